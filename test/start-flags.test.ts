// Every way to start a service gives Node the same flags, once: the command adds those that its
// user has not set.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { BIN } from './cli/run-cli.ts';
import { readPage, ROOT } from './docs/read-page.ts';

const NO_DEBUGGER = '--disable-sigusr1';
const FLAGS = [NO_DEBUGGER, '--max-semi-space-size=16', '--heap-growing-percent=40'];

const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };
const entryPoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(readPage('Dockerfile'))?.[1] ?? '') as string[];

/** The commands as they stand in the files, of this checkout, without what comes after `start`. */
const ENTRIES = {
  'npm start': scripts['start'] ?? '',
  'npm run demo': `exec ${scripts['demo']?.replace(/demo$/, 'start')}`,
  'the command of the package': `exec ${BIN} start`,
  'the image': `exec ${entryPoint.join(' ').replace('/app', ROOT)} start`,
  'the unit of systemd': /^ExecStart=(.* start) /m
    .exec(readPage('deploy/holdfast.service'))?.[1]
    ?.replace('/usr/bin/', 'exec ')
    .replace('/opt/holdfast', ROOT),
};

/**
 * Runs a command for the shell, with a service that needs no database; its flags of Node when it
 * serves.
 */
async function flagsOf(command = '', env: Record<string, string> = {}): Promise<string[]> {
  const child = spawn('sh', ['-c', command.replace(/start$/, 'scripted-model')], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  const words = (await readFile(`/proc/${child.pid}/cmdline`, 'utf8')).split('\0');
  return words.slice(
    1,
    words.findIndex((word) => word.endsWith('bin.mjs')),
  );
}

test.each(Object.entries(ENTRIES))('%s starts a service with the flags', async (_, command) => {
  expect(await flagsOf(command)).toEqual(FLAGS);
});

test('secrets of the environment do not double the flags', async () => {
  expect(await flagsOf(ENTRIES['npm start'], { ANTHROPIC_API_KEY: 'a-secret' })).toEqual(FLAGS);
});

test('a flag that the user sets, on the command line or in NODE_OPTIONS, is the only one of its name', async () => {
  const own = `exec node --heap_growing_percent=60 ${BIN} start`;
  const flags = await flagsOf(own, { NODE_OPTIONS: '--max-old-space-size=900 --max-semi-space-size=8' });
  expect(flags).toEqual(['--heap_growing_percent=60', NO_DEBUGGER]);
});

test('a process that is not a service keeps SIGUSR1 from opening the debugger of Node', () => {
  expect(scripts['dev']).toContain(`node ${NO_DEBUGGER} --watch `);
  expect(readPage('Dockerfile')).toContain(`CMD ["node", "${NO_DEBUGGER}", "/app/deploy/healthcheck.mjs"]`);
});

test('no service of the compose file starts Node past the entry point of the image', () => {
  expect(readPage('docker-compose.yml')).not.toMatch(/entrypoint:|'node'|"node"/);
});
