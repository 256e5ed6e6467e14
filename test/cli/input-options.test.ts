// The options of the command line that what starts turns has in common, `--tag` and `--tools`,
// against a real API with real turns.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { batchRig } from '../features/batches/batch-rig.ts';
import { makeFolder } from './make-folder.ts';
import { useCliRig } from './use-cli-rig.ts';

const { holder, runWith } = useCliRig();
const ITEMS = `${JSON.stringify({ text: 'one' })}\n${JSON.stringify({ text: 'two', tags: { customer: 'other' } })}\n`;

const run = (args: string[], stdin = '') => runWith(args, { stdin });

/** The id that a command prints. */
async function made(args: string[], stdin?: string): Promise<string> {
  const ended = await run(args, stdin);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  return ended.stdout.trim();
}

const shown = async (path: string) => (await holder.rig.get(path)).body;

test('send, spawn, batch submit, cron add and cron edit take tags', async () => {
  const { rig } = holder;
  const tags = ['--tag', 'customer=42', '--tag', 'formula=a=b:c'];
  const expected = { customer: '42', formula: 'a=b:c' };
  const [message, run1, batch, cron] = await Promise.all([
    made(['send', 'tagged', 'hello', ...tags]),
    made(['spawn', 'parent', 'count', ...tags]),
    made(['batch', 'submit', '-', ...tags], ITEMS),
    made(['cron', 'add', '--every', '1h', '--message', 'Report.', ...tags]),
  ]);
  expect((await shown(`/v1/messages/${message}`)).tags).toEqual(expected);
  const { childSessionKey } = await shown(`/v1/subagents/${run1}`);
  const [task] = (await shown(`/v1/messages?session=${encodeURIComponent(childSessionKey)}`)).items;
  expect(task.tags).toEqual(expected);
  expect((await shown(`/v1/batches/${batch}`)).tags).toEqual(expected);
  await batchRig(rig).run(batch);
  const items = (await shown('/v1/turns?kind=batch')).items.map((turn: { tags: object }) => turn.tags);
  expect(items).toHaveLength(2);
  expect(items).toContainEqual(expected);
  expect(items).toContainEqual({ ...expected, customer: 'other' });
  expect((await shown(`/v1/crons/${cron}`)).tags).toEqual(expected);
  await made(['cron', 'edit', cron, '--tag', 'kind=report']);
  expect((await shown(`/v1/crons/${cron}`)).tags).toEqual({ kind: 'report' });
});

test('turns list and usage show only what has a tag', async () => {
  const { rig } = holder;
  for (const [session, tags] of [
    ['found', { order: 'a:b=c' }],
    ['left-out', {}],
  ] as const) {
    await rig.settle(session, '[[reply: ok]]', { tags });
  }
  const [turns, usage, none] = await Promise.all([
    made(['turns', 'list', '--tag', 'order=a:b=c', '--json']),
    made(['usage', '--tag', 'order=a:b=c', '--json']),
    made(['usage', '--tag', 'order=b', '--json']),
  ]);
  expect(JSON.parse(turns).items).toMatchObject([{ sessionKey: 'agent:main:found', tags: { order: 'a:b=c' } }]);
  expect(JSON.parse(usage).items).toMatchObject([{ turns: 1, calls: 1 }]);
  expect(JSON.parse(none).items).toEqual([]);
});

test('batch submit has the tools of its items, and refuses what is none', async () => {
  const batch = await made(['batch', 'submit', '-', '--tools', 'read', 'web_*'], ITEMS);
  expect((await shown(`/v1/batches/${batch}`)).tools).toEqual({ allow: ['read', 'web_*'] });
  const refused = await run(['batch', 'submit', '-', '--tools', 'raed'], ITEMS);
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('did you mean "read"?') });
});

test.each([['customer'], ['=42'], ['a:b=c']])('the tag %j is a usage error that says what a tag is', async (tag) => {
  const ended = await Promise.all([
    run(['send', 'main', 'hello', '--tag', tag]),
    run(['turns', 'list', '--tag', tag]),
    run(['usage', '--tag', tag]),
  ]);
  for (const end of ended) {
    expect(end).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('such as customer=42') });
  }
});

test('send, spawn, batch submit and cron add take the schema of the reply from a file', async () => {
  const folder = await makeFolder('holdfast-schema-');
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'count.json');
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  await writeFile(file, JSON.stringify(schema));
  const responseFormat = { type: 'json_schema', schema };
  const form = ['--schema', file];
  const say = '[[reply: {"n": 1}]]';
  const [message, cron, batch] = await Promise.all([
    made(['send', 'formed', say, ...form]),
    made(['cron', 'add', '--every', '1h', '--message', 'Report.', ...form]),
    made(
      ['batch', 'submit', '-', '--via', 'live', '--prompt-mode', 'none', '--tools', '', ...form],
      JSON.stringify({ text: say }),
    ),
    made(['spawn', 'former', say, ...form]),
  ]);
  expect((await shown(`/v1/crons/${cron}`)).payload).toEqual({ kind: 'agentTurn', message: 'Report.', responseFormat });
  await holder.rig.work('formed');
  const { turnId } = await shown(`/v1/messages/${message}`);
  expect((await shown(`/v1/turns/${turnId}`)).output).toEqual({ n: 1 });
  await batchRig(holder.rig).run(batch);
  expect((await batchRig(holder.rig).results(batch)).map(({ output }) => output)).toEqual([{ n: 1 }]);
  await writeFile(file, '[]');
  expect(await run(['send', 'formed', 'x', ...form])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('it is not a JSON object'),
  });
});
