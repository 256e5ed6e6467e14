// Installations without the build tools of the dashboard, from the package cache of the machine:
// the service runs, and says what is missing and how to get it.
import { execFile } from 'node:child_process';
import { cp, rm } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { startServiceProcess } from '../servers/service-process.ts';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import { makeFolder } from './make-folder.ts';

const run = promisify(execFile);
const checkout = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = new Set(['node_modules', '.git', 'dist', '.holdfast']);

/**
 * Without the Node of this checkout: npm runs on that of the machine, as it does for a newcomer.
 */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

/** They need about 10 s each; the full form has both. */
describe.skipIf(!isLongForm())('an installation', () => {
  test.each(isFullForm() ? ['--omit=dev', '--ignore-scripts'] : ['--omit=dev'])(
    'with npm ci %s serves the API, and says how the dashboard is built',
    async (flag) => {
      const folder = await makeFolder('holdfast-install-');
      onTestFinished(() => rm(folder, { recursive: true, force: true }));
      await cp(checkout, folder, { recursive: true, filter: (source) => !NOT_COPIED.has(basename(source)) });
      const env = { PATH, HOME: process.env['HOME'] };
      await run('npm', ['ci', flag, '--no-audit', '--no-fund', '--prefer-offline'], { cwd: folder, env });

      const database = await withTestDatabase();
      onTestFinished(() => database.drop());
      const service = await startServiceProcess({
        rootDir: folder,
        through: 'npm',
        env: { PATH, DATABASE_URL: database.url, HOLDFAST_DATA_DIR: join(folder, 'data') },
      });
      onTestFinished(() => service.end('SIGTERM').then(() => undefined));
      const page = await (await fetch(service.url)).text();
      expect(page).toContain('npm run build:web');
      const doctor = await run('node', ['src/cli/bin.mjs', 'doctor', '--json'], {
        cwd: folder,
        env,
      }).catch((failed: { stdout: string }) => failed);
      expect(doctor.stdout).toContain('npm run build:web');
    },
  );
});
