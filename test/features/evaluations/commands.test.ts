// `holdfast datasets` against a real API, with turns and rounds in this process.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { runCli, type CliResult } from '../../cli/run-cli.ts';

const shared = useApiRig();
let folder = '';
let made = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-eval-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const fresh = (name: string): string => `${name}-${(made += 1)}`;

async function holdfast(...args: string[]): Promise<CliResult> {
  const url = await shared.rig.listen();
  return runCli(args, { env: { HOLDFAST_URL: url, HOLDFAST_API_KEY: ADMIN_KEY } });
}

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

const linesOf = (cases: readonly object[]): string => cases.map((one) => `${JSON.stringify(one)}\n`).join('');

/** Has a message answered. Returns the id of its turn. */
async function answered(text: string, more: object): Promise<string> {
  const { rig } = shared;
  const session = fresh('asks');
  const { body } = await rig.post(`/v1/sessions/${session}/messages`, { text, ...more });
  const worker = rig.turns.worker();
  await worker.run(session);
  worker.stop();
  return (await rig.get(`/v1/messages/${body.message.id}`)).body.turnId;
}

test('a data set is made, given turns by conditions and cases by a file, shown and deleted', async () => {
  const name = fresh('refunds');
  const tags = { kind: 'refund', of: name };
  const disliked = await answered('Hello. [[reply: no]]', { tags });
  await answered('Hello. [[reply: yes]]', { tags });
  await holdfast('scores', 'set', disliked, 'thumb', 'false');
  expect((await holdfast('datasets', 'create', name)).code).toBe(0);
  const conditions = ['--filter', 'score=thumb:false', 'since=1h', 'tag=kind:refund', `tag=of:${name}`];
  expect((await holdfast('datasets', 'add', name, ...conditions)).stdout).toBe('1 item added; version 1\n');
  expect((await holdfast('datasets', 'add', name, ...conditions)).stdout).toBe('0 items added; version 1\n');
  const file = await write(`${name}.txt`, linesOf([{ input: 'one' }, { input: 'two' }]));
  expect((await holdfast('datasets', 'add', name, '--file', file)).stdout).toBe('2 items added; version 2\n');
  expect((await holdfast('datasets', 'items', name)).stdout).toContain(disliked);
  expect((await holdfast('datasets', 'show', name)).stdout).toContain('3, 3 ready');
  expect((await holdfast('datasets', 'delete', name, '--dry-run')).stdout).toContain('with 3 items');
  expect((await holdfast('datasets', 'delete', name, '--yes')).code).toBe(0);
  expect((await holdfast('datasets', 'show', name)).code).toBe(5);
});

test.each([
  [['--filter', 'state=failed'], 'is not a condition'],
  [['--filter', 'status=failed', 'status=aborted'], 'was there before'],
  [['--filter', 'since=yesterday'], 'is not a time'],
  [['--filter', 'status=failed', '--turns', 'x'], 'one of --turns, --filter and --file'],
  [[], 'one of --turns, --filter and --file'],
  [['--file', '/nowhere/cases.jsonl'], 'there is no such file'],
])('add %j is refused before anything is sent', async (args, says) => {
  const end = await holdfast('datasets', 'add', 'nothing', ...args);
  expect([end.code, end.stderr]).toEqual([2, expect.stringContaining(says)]);
});
