// Items that were copied from turns: the request as it was sent, the recorded steps, and why some
// turns cannot be asked again.
import { mkdir, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { withMarkers } from '../../../src/core/cache-markers.ts';
import { copyItems } from '../../../src/features/evaluations/copy-items.ts';
import type { RecordedStep, StoredRequest } from '../../../src/features/evaluations/rules/cases.ts';
import { addItems } from '../../../src/features/evaluations/store/datasets.ts';
import { toWireRequest } from '../../../src/model/transport.ts';
import type { Tool, ToolOutcome } from '../../../src/tools/tool.ts';
import { createApiRig, type ApiRig } from '../../api/api-rig.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { startScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { useApiRig } from '../../api/use-api-rig.ts';
import { readModelCalls } from '../../rows/calls.ts';
import { changeEntries, removeSnapshots } from '../../rows/entries.ts';
import { readDatasetItems } from '../../rows/evaluations.ts';
import { replaced } from '../../rows/table.ts';
import { readTurns, removeTurns } from '../../rows/turns.ts';
import { datasetRig } from './dataset-rig.ts';

const file = {
  agents: {
    defaults: {
      models: { other: 'anthropic/claude-opus-4-1', spare: 'anthropic/claude-haiku-4-5' },
      fallbacks: ['spare'],
    },
  },
  models: { outage: { probeMs: { min: 10, max: 50 } } },
};
const holder = useApiRig({ file });
/** Its model is of another provider. */
let foreign: ApiRig;

shareAmongTests(async (onEnd) => {
  const scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  onEnd(() => scripted.close());
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const providers = { openai: { baseUrl: `${scripted.url}/v1`, apiKey: 'key-of-openai' } };
  const made = await createApiRig(database.url, { file: { models: { providers } } });
  onEnd(() => made.close());
  foreign = made;
});

const sets = () => datasetRig(holder.rig);

/** A tool with this result; `during` is done while it runs. */
function tool(name: string, content: ToolOutcome['content'], during = async (): Promise<unknown> => undefined): Tool {
  return {
    spec: { name, description: 'For tests.', input_schema: { type: 'object' } },
    summary: 'for tests',
    isIdempotent: true,
    async run() {
      await during();
      return { content, isError: false };
    },
  };
}

/** Runs the next turn of a session, with these tools. */
async function work(session: string, tools: Tool[]): Promise<void> {
  const worker = holder.rig.turns.worker({ tools });
  await worker.run(session);
  worker.stop();
}

async function turnWith(session: string, text: string, tools: Tool[], more: object = {}) {
  expect((await holder.rig.post(`/v1/sessions/${session}/messages`, { text, ...more })).status).toBe(202);
  await work(session, tools);
  return lastTurn(session);
}

async function lastTurn(session: string) {
  return (await holder.rig.get(`/v1/turns?session=${encodeURIComponent(session)}&limit=1`)).body.items[0];
}

/** The stored columns of an item. */
async function stored(turnId: string) {
  const [row] = await readDatasetItems(holder.rig, { turnId });
  return row as unknown as { request: StoredRequest | null; steps: RecordedStep[]; groupKey: string; split: string };
}

/** The hash of the bytes that a stored request is sent as. */
function hashOf({ level: _level, ...request }: StoredRequest): string {
  const body = toWireRequest(withMarkers(request, '5m'), { isStreaming: true });
  return createHash('sha256').update(JSON.stringify(body)).digest('hex');
}

/** Of the first call that was answered, or of the first of a turn that has no answer. */
async function sentHash(turnId: string): Promise<string | null> {
  const calls = await readModelCalls(holder.rig, { turnId, purpose: 'answer' }, 'status', 'requestSha256');
  return (calls.find(({ status }) => status === 'ok') ?? calls[0])?.requestSha256 ?? null;
}

test('a copy has the request that was sent, the steps with their results, the reply, the model, the cost and the tags', async () => {
  await holder.rig.turnOf('copy', 'Before. [[reply: before]]');
  const text = 'Go. [[tool: one {"a":1}]] & [[tool: two {}]] [[tool: one {"a":2}]] [[reply: done]]';
  const turn = await turnWith('copy', text, [tool('one', 'first'), tool('two', 'second')], { tags: { team: 'red' } });
  const { item } = await sets().copyOf(turn.id);
  expect(item).toMatchObject({
    state: 'ready',
    excluded: null,
    input: text,
    expected: 'done',
    reply: 'done',
    model: `${turn.provider}/${turn.model}`,
    calls: 3,
    tags: { team: 'red' },
    costUsd: turn.costUsd,
  });
  expect(turn.costUsd).toBeGreaterThan(0);
  const { request, steps, groupKey } = await stored(turn.id);
  expect(groupKey).toBe('agent:main:copy');
  expect(steps).toEqual([
    {
      calls: [
        { name: 'one', input: { a: 1 }, result: expect.objectContaining({ content: 'first' }) },
        { name: 'two', input: {}, result: expect.objectContaining({ content: 'second' }) },
      ],
      joined: [],
    },
    { calls: [{ name: 'one', input: { a: 2 }, result: expect.objectContaining({ content: 'first' }) }], joined: [] },
  ]);
  expect(JSON.stringify(request?.messages)).toContain('before');
  expect(hashOf(request as StoredRequest)).toBe(await sentHash(turn.id));
});

test('a message that joined a turn is in the step after whose results it came', async () => {
  const hold = tool('hold', 'held', () =>
    holder.rig.post('/v1/sessions/joins/messages', { text: 'And look left.', mode: 'steer' }),
  );
  const turn = await turnWith('joins', 'Go. [[tool: hold {}]] [[tool: after {}]] [[reply: ok]]', [
    hold,
    tool('after', 'x'),
  ]);
  await sets().copyOf(turn.id);
  const { steps } = await stored(turn.id);
  expect(steps.map(({ joined }) => joined.length)).toEqual([1, 0]);
  expect(steps[0]?.joined[0]).toContain('And look left.');
});

describe('a turn is excluded, with the reason in words,', () => {
  test('when no request of it was sent', async () => {
    await holder.rig.turnOf('compacted', 'One.');
    await holder.rig.post('/v1/sessions/compacted/compact');
    await holder.rig.work('compacted');
    const turn = await lastTurn('compacted');
    expect(turn.kind).toBe('compaction');
    const { item, name } = await sets().copyOf(turn.id);
    expect(item).toMatchObject({ state: 'excluded', excluded: expect.stringContaining('was sent to a model') });
    expect((await sets().show(name)).counts).toMatchObject({ items: 1, ready: 0, excluded: 1 });
  });

  test('when its snapshots are gone', async () => {
    const turn = await turnWith('old', 'One. [[reply: one]]', [tool('only-here', 'x')]);
    const [row] = await readTurns(holder.rig, { id: turn.id }, 'toolsSha256');
    await removeSnapshots(holder.rig, { sha256: row?.toolsSha256 });
    const { item } = await sets().copyOf(turn.id);
    expect(item).toMatchObject({
      state: 'excluded',
      excluded: expect.stringContaining('not kept any more'),
      input: 'One. [[reply: one]]',
      reply: 'one',
    });
    expect((await stored(turn.id)).request).toBeNull();
  });

  test('when what is stored of it is not what was sent', async () => {
    const turn = await holder.rig.turnOf('changed', 'The secret is 1234.');
    await changeEntries(
      holder.rig,
      { turnId: turn.id, kind: 'prompt' },
      { content: replaced('The secret is 1234.', 'The secret is 5678.') },
    );
    const { item } = await sets().copyOf(turn.id);
    expect(item).toMatchObject({ state: 'excluded', excluded: expect.stringContaining('differs from what was sent') });
  });

  test('when its copy cannot be made, and others are copied', async () => {
    const turn = await holder.rig.turnOf('broken', 'One.');
    await changeEntries(holder.rig, { turnId: turn.id, kind: 'answer' }, { content: 'null' });
    const { item, name } = await sets().copyOf(turn.id);
    expect(item).toMatchObject({
      state: 'excluded',
      excluded: expect.stringContaining('could not be made'),
      input: 'One.',
    });
    const other = await holder.rig.turnOf('whole', 'Two.');
    await sets().add(name, { turns: [other.id] });
    expect((await sets().show(name)).counts).toMatchObject({ excluded: 1, ready: 1 });
  });

  test('when it was deleted before it was copied; then nothing names it', async () => {
    const { rig } = holder;
    const turn = await rig.turnOf('deleted', 'One.');
    const name = await sets().make();
    const { id } = await sets().show(name);
    const base = { input: null, tags: {}, metadata: {}, steps: [], agentId: 'main' };
    const item = { ...base, turnId: turn.id, sessionKey: 'agent:main:deleted', group: 'agent:main:deleted' };
    await addItems(rig.context.service.database, { id, items: [item], idempotency: null });
    expect((await sets().show(name)).counts).toMatchObject({ copying: 1 });
    await removeTurns(rig, { id: turn.id });
    await copyAll();
    expect(await readDatasetItems(rig, { datasetId: id }, 'state', 'turnId', 'sessionKey', 'groupKey')).toEqual([
      { state: 'excluded', turnId: null, sessionKey: null, groupKey: 'erased:1' },
    ]);
  });
});

/** As a scheduler does. */
function copyAll(limit = 1_000): Promise<number> {
  const { service, openModel } = holder.rig.context;
  return copyItems(service, { limit, openModel });
}

test('more turns than a request copies are copied by schedulers, also by two at once', async () => {
  const { rig } = holder;
  const ids: string[] = [];
  for (let at = 0; at < 12; at += 1) ids.push((await rig.turnOf('many', `Number ${at}. [[reply: ${at}]]`)).id);
  const name = await sets().make();
  const { id } = await sets().show(name);
  const items = ids.map((turnId) => ({
    turnId,
    sessionKey: 'agent:main:many',
    agentId: 'main',
    group: 'agent:main:many',
    input: null,
    tags: {},
    metadata: {},
    steps: [],
  }));
  await addItems(rig.context.service.database, { id, items, idempotency: null });
  expect(await copyAll(5)).toBe(5);
  expect((await sets().show(name)).counts).toMatchObject({ items: 12, ready: 5, copying: 7 });
  await Promise.all([copyAll(), copyAll()]);
  expect((await sets().show(name)).counts).toMatchObject({ ready: 12, copying: 0 });
  expect((await sets().items(name)).map(({ reply }: { reply: string }) => reply)).toEqual(
    ids.map((_, at) => String(at)),
  );
  expect(await copyAll()).toBe(0);
});

test('turns of every kind have copies with the bytes that were sent, and a conversation is one group', async () => {
  const { rig } = holder;
  const png = await sharp({ create: { width: 9, height: 2, channels: 3, background: '#123456' } })
    .png()
    .toBuffer();
  const media = join(rig.config.runtime.dataDir, 'media');
  await mkdir(media, { recursive: true });
  await writeFile(join(media, 'photo.png'), png);
  const image = {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') },
  } as const;
  const shot = tool('shot', [{ type: 'text', text: 'a picture' }, image]);
  const add = tool('add', '3');
  const TALK = 'kinds';
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    required: ['a'],
    additionalProperties: false,
  };
  const said: [text: string, more?: object][] = [
    ['Plain.'],
    ['With a reply. [[reply: Hello, ünïcödé 🦊]]'],
    ['Thinks. [[thinking: hm]] [[reply: ok]]', { thinking: 'low' }],
    ['Hides. [[redacted: abc]] [[reply: ok]]', { thinking: 'high' }],
    ['Calls. [[tool: add {"a":1,"b":2}]] [[reply: 3]]'],
    ['Calls two. [[tool: add {}]] & [[tool: shot {}]] [[reply: both]]'],
    [
      'Calls after thinking. [[thinking: hm]] [[tool: add {}]] [[thinking: more]] [[tool: shot {}]] [[reply: ok]]',
      { thinking: 'low' },
    ],
    ['Calls what there is not. [[tool: none {}]] [[reply: oh]]'],
    ['Is repeated. [[error: 529 retry-after-ms=1]] [[reply: ok]]'],
    ['Fails. [[error: 401]]'],
    ['Says nothing. [[reply: NO_REPLY]]'],
    ['Has a picture.', { media: [{ path: join(media, 'photo.png'), type: 'image/png' }] }],
    ['After the picture.'],
    ['Asks another model. [[reply: other]]', { model: 'other' }],
    ['Steps down. [[error: 529 times=always model=claude-sonnet-5-5]] [[reply: spare]]'],
    ['Answers in JSON. [[reply: {"a":1}]]', { responseFormat: { type: 'json_schema', name: 'a', schema } }],
    ['Has few tools.', { tools: { deny: ['exec'] } }],
    ['From a chat.', { channel: 'telegram', chatId: '7', sender: { id: '1', name: 'Ada' } }],
    ['Long. [[fill: 20000]]'],
    ['After the long one.'],
  ];
  for (const [text, more] of said) await turnWith(TALK, text, [add, shot], more);
  await rig.post(`/v1/sessions/${TALK}/compact`);
  await rig.work(TALK);
  await turnWith(TALK, 'After a compaction.', [add]);
  const spawned = (await rig.post(`/v1/sessions/${TALK}/spawn`, { task: 'Look. [[reply: looked]]' })).body;
  await work(spawned.childSessionKey, [add]);
  expect((await rig.post(`/v1/sessions/${TALK}/fork`, { key: 'forked' })).status).toBe(201);
  await turnWith('forked', 'In a fork.', [add]);
  const name = await sets().make();
  for (const session of [TALK, spawned.childSessionKey, 'forked'])
    expect(await sets().add(name, { filter: { session } })).toMatchObject({ status: 200 });
  const items = await sets().items(name);
  const excluded = items.filter(({ state }: { state: string }) => state !== 'ready');
  expect(excluded.map(({ excluded: why }: { excluded: string }) => why)).toEqual([
    expect.stringContaining('was sent to a model'),
  ]);
  const { id } = await sets().show(name);
  const rows = (await readDatasetItems(rig, { datasetId: id, state: 'ready' })) as unknown as {
    turnId: string;
    groupKey: string;
    request: StoredRequest;
  }[];
  expect(rows.length).toBeGreaterThanOrEqual(said.length + 3);
  for (const { turnId, request } of rows) {
    expect(hashOf(request)).toBe(await sentHash(turnId));
    expect((await rig.get(`/v1/turns/${turnId}/requests/1`)).body.matches).toBe(true);
  }
  expect(new Set(rows.map(({ groupKey }) => groupKey))).toEqual(new Set([`agent:main:${TALK}`]));
});

test('a turn of another provider is compared with the bytes that were sent in the form of that provider', async () => {
  const of = datasetRig(foreign);
  const model = 'openai/gpt-5';
  const kept = await foreign.turnOf('kept', 'Go. [[thinking: hm]] [[tool: echo {"a":1}]] [[reply: ok]]', { model });
  const changed = await foreign.turnOf('changed', 'The secret is 1234.', { model });
  await changeEntries(
    foreign,
    { turnId: changed.id, kind: 'prompt' },
    { content: replaced('The secret is 1234.', 'The secret is 5678.') },
  );
  expect((await of.copyOf(kept.id)).item).toMatchObject({ state: 'ready', model, calls: 1, reply: 'ok' });
  expect((await of.copyOf(changed.id)).item).toMatchObject({
    state: 'excluded',
    excluded: expect.stringContaining('differs from what was sent'),
  });
});
