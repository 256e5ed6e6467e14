// The npm package as its users have it: packed from a copy of the checkout, installed into an empty
// folder, on the Node of the machine. The short form looks at what would be packed.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { makeFolder } from './make-folder.ts';

const run = promisify(execFile);
const checkout = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = new Set(['node_modules', '.git', '.holdfast', 'bench', 'test']);
const SOON_MS = 120_000;
const INSTALL_FLAGS = ['--no-audit', '--no-fund', '--prefer-offline'];
const MEGABYTE = 1024 * 1024;

/** Without the Node of this checkout: npm runs on that of the machine. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

const CLIENT = `
import { createClient, HoldfastError, type Schemas } from 'holdfast/client';
import { PlatformError, type Platform } from 'holdfast/channel';
import type { PluginApi } from 'holdfast/plugin';
export const isFault = (error: unknown): boolean => error instanceof PlatformError;
export const nameOf = ({ name }: Platform): string => name;
// @ts-expect-error There is no such field.
export const colorOf = ({ color }: Platform): unknown => color;
export const register = (api: PluginApi): void => api.on('before_prompt_build', () => ({}));
const client = createClient({ url: process.env['URL'] ?? '', key: process.env['KEY'] ?? '' });
const health: { status: string } = await client.getHealth();
const { message }: { message: Schemas['Message'] } = await client.sendMessage({ key: 'package', body: { text: '[[reply: yes]]' } });
// @ts-expect-error There is no such field.
void message.nothing;
try {
  await client.getTurn({ id: message.id });
} catch (error) {
  if (!(error instanceof HoldfastError) || error.code !== 'not_found') throw error;
}
console.log(health.status, message.status);
`;

describe.skipIf(!isLongForm())('the installed package', () => {
  const holder = {} as { copy: string; folder: string; tarball: string; env: Record<string, string | undefined> };

  async function holdfast(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { folder, env } = holder;
    return run('npx', ['holdfast', ...args], { cwd: folder, env }).then(
      (ended) => ({ code: 0, ...ended }),
      (failed: Error & { code: number; stdout: string; stderr: string }) => failed,
    );
  }

  shareAmongTests(async (onEnd) => {
    const root = await makeFolder('holdfast-package-');
    onEnd(() => rm(root, { recursive: true, force: true }));
    // Packing replaces the manifest briefly, which no other test must see.
    const copy = join(root, 'checkout');
    await cp(checkout, copy, { recursive: true, filter: (source) => !NOT_COPIED.has(basename(source)) });
    await symlink(join(checkout, 'node_modules'), join(copy, 'node_modules'));
    // With the machine's settings for its registry.
    const env = { ...process.env, PATH };
    const sized = await run('npm', ['run', 'package:size', '--', root], { cwd: copy, env });
    expect(sized.stdout).toContain('MB packed');
    expect(JSON.parse(await readFile(join(copy, 'package.json'), 'utf8'))).toEqual(
      JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')),
    );
    const folder = join(root, 'project');
    await mkdir(folder);
    await writeFile(join(folder, 'package.json'), '{"name": "project", "private": true, "type": "module"}');
    const { version } = JSON.parse(await readFile(join(checkout, 'package.json'), 'utf8')) as { version: string };
    const tarball = join(root, `holdfast-${version}.tgz`);
    await run('npm', ['install', '--ignore-scripts', ...INSTALL_FLAGS, tarball], { cwd: folder, env });
    // A package manager may make it read-only.
    await run('chmod', ['-R', 'a-w', join(folder, 'node_modules/holdfast')]);
    onEnd(() => run('chmod', ['-R', 'u+w', join(folder, 'node_modules/holdfast')]));
    Object.assign(holder, { copy, folder, tarball, env });
  });

  test('has a README whose links lead to files of the package', async () => {
    const root = join(holder.folder, 'node_modules/holdfast');
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)#]+)/g)].map(([, target]) => target!);
    const inside = links.filter((target) => !target.startsWith('https://'));
    expect(inside).toContain('dist/docs/api.md');
    expect(inside.filter((target) => !existsSync(join(root, target)))).toEqual([]);
  });

  test('runs the demo', async () => {
    const { code, stdout } = await holdfast('demo');
    expect(code, stdout).toBe(0);
    expect(stdout).toContain('every check passed');
  });

  test.runIf(isFullForm())(
    'runs the demo on the newest Node as well, installed with the scripts of its dependencies',
    async (context) => {
      const folder = await makeFolder('holdfast-package-');
      context.onTestFinished(() => rm(folder, { recursive: true, force: true }));
      // npm itself runs on the Node that comes first.
      const env = { ...holder.env, PATH: `${dirname(process.execPath)}${delimiter}${PATH}` };
      await run('npm', ['install', ...INSTALL_FLAGS, holder.tarball], { cwd: folder, env });
      const { stdout } = await run('npx', ['holdfast', 'demo'], { cwd: folder, env });
      expect(stdout).toContain('every check passed');
    },
  );

  test('has the pages of the documentation', async () => {
    const pages = await readdir(join(holder.folder, 'node_modules/holdfast/dist/docs'), { recursive: true });
    expect(pages).toEqual(expect.arrayContaining(['api.md', 'how-to/quick-start.md', 'references/cli.md']));
  });

  test('is refused by the check of its size when it is too large or has a file that does not belong into it', async () => {
    const { copy, env } = holder;
    await writeFile(join(copy, 'docs/large.md'), randomBytes(4 * MEGABYTE).toString('base64'));
    await writeFile(join(copy, 'migrations/notes.txt'), 'notes');
    const checked = await run('npm', ['run', 'package:size'], { cwd: copy, env }).then(
      () => '',
      (failed: Error & { stderr: string }) => failed.stderr,
    );
    expect(checked).toContain('It is larger than 3 MB');
    expect(checked).toContain('These files do not belong into it: dist/migrations/notes.txt');
  });

  test('answers --help for every command', async () => {
    const { stdout } = await holdfast('--help');
    const names = [...stdout.matchAll(/^ {2}([a-z][a-z-]+)\b/gm)].map(([, name = '']) => name);
    expect(names.length).toBeGreaterThan(20);
    for (const name of new Set(names)) {
      const bin = join(holder.folder, 'node_modules/holdfast/dist/src/cli/bin.mjs');
      const { stdout: help } = await run(process.execPath, [bin, name, '--help'], { env: holder.env });
      expect(help, name).toContain('Usage:');
    }
  });

  test('serves the dashboard, and its client is type-checked and runs', async () => {
    const { folder, env } = holder;
    const service = spawn(process.execPath, [join(folder, 'node_modules/holdfast/dist/src/cli/bin.mjs'), 'start'], {
      cwd: folder,
      env: { ...env, HOLDFAST_PORT: '0', HOLDFAST_LOG_FORMAT: 'json' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let output = '';
      service.stdout.on('data', (bytes: Buffer) => (output += bytes.toString()));
      await waitUntil('the address', SOON_MS, () => /http:\/\/127\.0\.0\.1:\d+/.test(output));
      const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      expect(await (await fetch(url)).text()).toContain('<div id="app">');
      const key = (await readFile(join(folder, '.holdfast/api-key'), 'utf8')).trim();
      await writeFile(join(folder, 'use.ts'), CLIENT);
      const older = join(folder, 'typescript-5');
      await mkdir(older);
      await run('npm', ['install', '--prefix', older, '--no-audit', '--no-fund', 'typescript@5.9.3'], {
        cwd: older,
        env,
      });
      for (const typescript of [older, checkout])
        for (const [module, moduleResolution] of [
          ['nodenext', 'nodenext'],
          ['esnext', 'bundler'],
        ] as const)
          await checkTypes(typescript, { module, moduleResolution });
      const ran = await run(process.execPath, ['use.ts'], { cwd: folder, env: { ...env, URL: url, KEY: key } });
      expect(ran.stdout).toContain('ok waiting');
    } finally {
      service.kill('SIGTERM');
      await once(service, 'exit');
    }
  });

  /** With the compiler that is installed there, and no other declarations than those of Node. */
  async function checkTypes(
    typescript: string,
    resolution: { module: string; moduleResolution: string },
  ): Promise<void> {
    const { folder, env } = holder;
    const compilerOptions = {
      ...resolution,
      target: 'es2024',
      lib: ['esnext', 'dom', 'dom.iterable'],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: ['node'],
      typeRoots: [join(checkout, 'node_modules/@types')],
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
    const compiler = join(typescript, 'node_modules/typescript/bin/tsc');
    const checked = await run(process.execPath, [compiler, '-p', folder], { cwd: folder, env }).then(
      () => '',
      (failed: Error & { stdout: string }) => failed.stdout || failed.message,
    );
    expect(checked, `${typescript} with ${resolution.moduleResolution}`).toBe('');
  }

  test('allows no other import', async () => {
    const { folder, env } = holder;
    for (const path of ['holdfast', 'holdfast/dist/src/config.js', 'holdfast/src/config.ts', 'holdfast/plugins']) {
      const program = `import(${JSON.stringify(path)}).then(() => console.log('imported'), (error) => console.log(error.code))`;
      const { stdout } = await run(process.execPath, ['-e', program], { cwd: folder, env });
      expect(stdout.trim(), path).toBe('ERR_PACKAGE_PATH_NOT_EXPORTED');
    }
  });
});
