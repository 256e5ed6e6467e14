// The examples that the README gives of what reaches a session, typed as they are printed, at a service that was started as it says.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { BIN, runCli } from './run-cli.ts';

const START_MS_MAX = 240_000;
const BLOCK_MS_MAX = 240_000;

const readme = readFileSync(resolve(import.meta.dirname, '../../README.md'), 'utf8');
const section = /\n## What reaches a session\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? '';
/** Each with the title that it stands under. */
const blocks = section.split(/^### /m).flatMap((part) => {
  const title = part.split('\n', 1)[0] ?? '';
  return [...part.matchAll(/```sh\n([\s\S]*?)```/g)].map((match): [string, string] => [title, match[1] ?? '']);
});

/** What a reader sees when it works, by the title. */
const SEEN: Record<string, string[]> = {
  'Messages while it works': ['I am in.'],
  'Chat commands': ['Set. Queue: steer · debounce 2000 ms', 'Session: agent:main:garden', 'transcript 2 begins'],
  'Crons and heartbeats': ['0 16 * * 1-5 Europe/Berlin', 'main is polled with message'],
  Replies: [],
  Subagents: ['There are a few.'],
  'Tools and memory': ['Noted.', 'Tea.', 'memory/people.md', 'Ada drinks tea.'],
};

let cwd: string;

shareAmongTests(async (onEnd) => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-readme-'));
  onEnd(() => rm(folder, { recursive: true }));
  cwd = folder;
  const { promise: spawned, resolve: isSpawned } = Promise.withResolvers<ChildProcess>();
  const ended = runCli(['start'], { cwd, env: { HOLDFAST_PORT: '0' }, onSpawn: isSpawned });
  const service = await spawned;
  onEnd(async () => {
    service.kill('SIGTERM');
    await ended;
  });
  for await (const line of createInterface({ input: service.stdout! })) if (/^holdfast +http/.test(line)) return;
  throw new Error(`the service did not start: ${(await ended).stderr}`);
}, START_MS_MAX);

test('every part of the section has an example', () => {
  expect(blocks.map(([title]) => title)).toEqual(Object.keys(SEEN));
});

test.each(blocks)('%s', { timeout: BLOCK_MS_MAX }, async (title, block) => {
  // npx finds the command in the checkout; here it is called there.
  const script = `set -e\nnpx() { shift; "${process.execPath}" "${BIN}" "$@"; }\n${block}`;
  const shell = spawn('bash', ['-c', script], {
    cwd,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')]);
  expect({ code: shell.exitCode, stderr: shell.exitCode === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  for (const seen of SEEN[title] ?? []) expect(stdout).toContain(seen);
});
