// Log files: written in pieces and kept to a number, and read again in the order of their time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { logFiles } from '../../src/config/schema-environment.ts';
import { LogFiles, logFilesIn } from '../../src/logger.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { BIN, runCli } from './run-cli.ts';

const SOON_MS = 240_000;

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-logs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test.each([
  ['10x10MB', { count: 10, bytes: 10_000_000 }],
  ['1x500kB', { count: 1, bytes: 500_000 }],
  ['off', null],
])('%s is %j', (text, limits) => {
  expect(logFiles.parse(text)).toEqual(limits);
});

test('a file that is full is followed by another, and the latest are kept', async () => {
  const folder = join(await newFolder(), 'logs');
  const files = new LogFiles(folder, { count: 3, bytes: 100 });
  for (let n = 1; n <= 20; n += 1) files.write(`${JSON.stringify({ n, text: 'x'.repeat(30) })}\n`);
  const names = logFilesIn(folder);
  expect(names).toHaveLength(3);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  expect(texts.every((text) => text.length <= 100)).toBe(true);
  expect(texts.at(-1)).toContain('"n":20');
});

test('the newest file of a process that still writes is kept, however many processes there are', async () => {
  const folder = await newFolder();
  const LONG_AGO = new Date('2026-01-01T00:00:00Z');
  const make = async (name: string, isRecent = false): Promise<string> => {
    await writeFile(join(folder, name), 'x');
    if (!isRecent) await utimes(join(folder, name), LONG_AGO, LONG_AGO);
    return name;
  };
  const alive = process.ppid;
  // No system gives a process this id.
  const gone = 2 ** 31 - 1;
  const older = await make(`holdfast-20260101T000000000Z-${hostname()}-${alive}-000001.jsonl`);
  const newest = await make(`holdfast-20260101T000000000Z-${hostname()}-${alive}-000002.jsonl`);
  const ofGone = await make(`holdfast-20260101T000000000Z-${hostname()}-${gone}-000001.jsonl`);
  const elsewhere = await make('holdfast-20260101T000000000Z-other-host-1-000001.jsonl', true);
  const goneElsewhere = await make('holdfast-20260101T000000000Z-gone-host-1-000001.jsonl');
  const files = new LogFiles(folder, { count: 1, bytes: 10 });
  files.write('one line\n');
  files.write('two lines\n');
  const names = logFilesIn(folder);
  expect(names).toEqual(expect.arrayContaining([newest, elsewhere]));
  for (const name of [older, ofGone, goneElsewhere]) expect(names).not.toContain(name);
  expect(names).toHaveLength(3);
});

test('a process whose file was deleted begins another', async () => {
  const folder = await newFolder();
  const files = new LogFiles(folder, { count: 3, bytes: 1000 });
  files.write('one\n');
  const [first = ''] = logFilesIn(folder);
  await rm(join(folder, first));
  files.write('two\n');
  const [second = ''] = logFilesIn(folder);
  expect(await readFile(join(folder, second), 'utf8')).toBe('two\n');
});

test('an unwritable folder only loses the lines', async () => {
  const folder = join(await newFolder(), 'logs');
  await writeFile(folder, 'a file');
  const files = new LogFiles(folder, { count: 3, bytes: 100 });
  expect(() => files.write('{}\n')).not.toThrow();
});

const lineOf = (time: string, msg: string, more: object = {}): string =>
  `${JSON.stringify({ level: 30, time: `2026-01-01T00:00:${time}Z`, msg, ...more })}\n`;

async function dataDirWith(files: Record<string, string>): Promise<string> {
  const dataDir = await newFolder();
  await mkdir(join(dataDir, 'logs'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(dataDir, 'logs', name), text);
  return dataDir;
}

test('a file that can be neither written nor closed costs the lines and nothing else', async () => {
  const folder = await newFolder();
  // In a process of its own: no other thread there takes the number of the file that is closed.
  const script = `
    import { closeSync, openSync } from 'node:fs';
    import { LogFiles } from ${JSON.stringify(new URL('../../src/logger.ts', import.meta.url).href)};
    const files = new LogFiles(${JSON.stringify(folder)}, { count: 3, bytes: 100 });
    const next = openSync('/dev/null');
    closeSync(next);
    files.write('one\\n');
    closeSync(next);
    files.write('two\\n');
    files.write('three\\n');
    console.log('goes on');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  expect(await text(child.stdout)).toBe('goes on\n');
  const [name = ''] = logFilesIn(folder);
  expect(await readFile(join(folder, name), 'utf8')).toBe('one\n');
});

test('the lines of all files are printed in the order of their time, and only those that are asked for', async () => {
  const dataDir = await dataDirWith({
    'holdfast-1-1-1.jsonl': lineOf('01', 'first') + lineOf('03', 'third', { level: 50, turnId: 't' }),
    'holdfast-2-2-1.jsonl': `${lineOf('02', 'second', { sessionKey: 'agent:main:main' })}{"broken`,
    'other.txt': lineOf('04', 'not a log file'),
  });
  const logs = async (...args: string[]) => {
    const { stdout, code } = await runCli(['logs', '--json', ...args], { env: { HOLDFAST_DATA_DIR: dataDir } });
    const lines = stdout.split('\n').filter((line) => line !== '');
    return { code, msgs: lines.map((line) => (JSON.parse(line) as { msg: string }).msg) };
  };
  expect(await logs()).toEqual({ code: 0, msgs: ['first', 'second', 'third'] });
  expect(await logs('--session', 'main')).toEqual({ code: 0, msgs: ['second'] });
  expect(await logs('--turn', 't')).toEqual({ code: 0, msgs: ['third'] });
  expect(await logs('--level', 'warn')).toEqual({ code: 0, msgs: ['third'] });
  const elsewhere = await runCli(['logs', '--url', 'https://holdfast.example'], {
    env: { HOLDFAST_DATA_DIR: dataDir },
  });
  expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining('on its machine') as string });
  expect((await runCli(['logs'], { env: { HOLDFAST_DATA_DIR: await newFolder() } })).code).toBe(5);
});

test('a pipe gets one line for each record, as it is stored, and a turn is named by the end of its id, too', async () => {
  const turnId = '019ac1f0-3c6e-7aaa-8bbb-0123a644b6f0';
  const stored = lineOf('01', 'failed', { turnId, err: { message: 'no', stack: 'Error: no\n    at here' } });
  const dataDir = await dataDirWith({
    'holdfast-1-1-1.jsonl': stored + lineOf('02', 'other', { turnId: 'x' }),
  });
  const env = { HOLDFAST_DATA_DIR: dataDir };
  for (const turn of [turnId, '44b6f0', '44B6F0']) {
    expect(await runCli(['logs', '--turn', turn], { env }), turn).toMatchObject({ code: 0, stdout: stored });
  }
});

test('-f continues with new lines and new files until Ctrl-C', async () => {
  const dataDir = await dataDirWith({ 'holdfast-1-1-1.jsonl': lineOf('01', 'first') });
  const child = spawn(process.execPath, [BIN, 'logs', '-f', '--json'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], HOLDFAST_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  const seen = (text: string) => waitUntil(`it prints ${text}`, SOON_MS, () => Promise.resolve(out.includes(text)));
  await seen('first');
  await appendFile(join(dataDir, 'logs', 'holdfast-1-1-1.jsonl'), lineOf('02', 'half a li').slice(0, 40));
  await appendFile(join(dataDir, 'logs', 'holdfast-1-1-1.jsonl'), lineOf('02', 'half a li').slice(40));
  await seen('half a li');
  await writeFile(join(dataDir, 'logs', 'holdfast-2-1-2.jsonl'), lineOf('03', 'in a new file'));
  await seen('in a new file');
  child.kill('SIGINT');
  expect(await once(child, 'close')).toEqual([130, null]);
});
