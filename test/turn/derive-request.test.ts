// Goal: the derived request of a call equals what was sent, byte for byte, whatever has happened to
// its session since, and names the author of each part. Method: conversations with everything that
// changes a view, and a model server that keeps what it received; each request is derived again at
// the end.
import { describe, expect, test } from 'vitest';
import type { MessageId } from '../../src/core/ids.ts';
import type { InboundMessage } from '../../src/core/inbound.ts';
import type { RequestPart } from '../../src/kernel/rules/request-parts.ts';
import { retryTurn } from '../../src/kernel/turn/journal/retry-turn.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { deriveRequest, type DerivedRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readEntries } from '../rows/entries.ts';
import { readSessions } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const long: Tool = {
  spec: { name: 'read', description: 'A long result', input_schema: { type: 'object' } },
  summary: 'long',
  isIdempotent: true,
  run: () => Promise.resolve({ content: 'abcdefghij'.repeat(2000), isError: false }),
};

const pruning = {
  mode: 'cache-ttl',
  ttl: 0,
  keepLastAssistants: 2,
  softTrimRatio: 0.3,
  hardClearRatio: 0.6,
  minPrunableToolChars: 1000,
};
const settings = {
  session: { dmHistoryLimit: 2 },
  agents: {
    defaults: {
      models: { other: 'anthropic/claude-opus-4-1' },
      contextTokens: 60_000,
      compaction: { reserveTokens: 0 },
    },
    list: [{ id: 'main', contextPruning: pruning }],
  },
};

let rig: TurnRig;
let worker: ReturnType<TurnRig['worker']>;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [long], settings });
  worker = rig.worker();
  const made = rig;
  onEnd(() => made.close());
});

async function say(name: string, text: string, more: Partial<InboundMessage> = {}): Promise<MessageId> {
  const id = await rig.send(name, text, more);
  await worker.run(name);
  return id;
}

/** Every call of a session, derived, with the body that the model server received for it. */
async function derived(name: string): Promise<DerivedRequest[]> {
  const calls = await readModelCalls(rig, { sessionId: await rig.sessionOf(name) }, 'turnId', 'callNo');
  const received = rig.scripted.requests.filter(
    ({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`,
  );
  const all: DerivedRequest[] = [];
  for (const { turnId, callNo } of calls as { turnId: string; callNo: number }[]) {
    const request = await deriveRequest(rig.database, { turnId, callNo, defaultThinking: () => 'high' });
    const sent = received.find(
      ({ headers }) => headers['x-holdfast-turn'] === turnId && headers['x-holdfast-call'] === String(callNo),
    );
    expect(request?.request).toEqual(sent?.body);
    expect(request?.matches).toBe(true);
    all.push(request as DerivedRequest);
  }
  expect(all).toHaveLength(received.length);
  return all;
}

function saidIn({ request }: DerivedRequest): string[] {
  return request.messages.flatMap(({ role, content }) =>
    role === 'assistant' ? [] : content.flatMap((block) => (block.type === 'text' ? [block.text] : [])),
  );
}

test('a turn with tools, thinking and a limited past is derived call by call', async () => {
  for (const text of ['one', 'two', '[[thinking: hm]] [[tool: read {}]] [[reply: ok]]', 'four'])
    await say('plain', text);
  const requests = await derived('plain');
  expect(requests.map(({ call, step }) => [call, step])).toEqual([
    [1, 1],
    [1, 1],
    [1, 1],
    [2, 2],
    [1, 1],
  ]);
  expect(saidIn(requests.at(-1) as DerivedRequest).map((text) => text.split('\n').at(-1))).toEqual([
    'two',
    '[[thinking: hm]] [[tool: read {}]] [[reply: ok]]',
    'four',
  ]);
});

test('a refused prompt is in its own request and in none after it', async () => {
  await say('refused', 'fine');
  await say('refused', 'bad [[error: 400 type=invalid_request_error times=always]]');
  await say('refused', 'next');
  const requests = await derived('refused');
  expect(requests.map((request) => saidIn(request).some((text) => text.includes('bad ')))).toEqual([
    false,
    true,
    false,
  ]);
  expect(requests[1]?.status).toBe('failed');
});

test('a retried turn keeps its first request', async () => {
  await say('retried', 'flaky [[error: 403 times=1]] [[reply: done]]');
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('retried') }, 'id');
  expect(await retryTurn(rig.database, String(turn?.['id']))).toMatchObject({ kind: 'ok' });
  await worker.run('retried');
  const requests = await derived('retried');
  expect(requests).toHaveLength(2);
  // The user's text is there once.
  for (const request of requests) expect(saidIn(request).filter((text) => text.includes('flaky'))).toHaveLength(1);
});

describe('a prompt without an answer', () => {
  test('is hidden when the next prompt arrives; its row and its request stay', async () => {
    await say('orphan', 'first');
    await say('orphan', 'lost [[error: 403 times=always]]');
    await say('orphan', 'second');
    const requests = await derived('orphan');
    expect(requests.map((request) => saidIn(request).some((text) => text.includes('lost')))).toEqual([
      false,
      true,
      false,
    ]);
    const sessionId = await rig.sessionOf('orphan');
    const rows = await readEntries(rig, { sessionId }, 'seq', 'kind', 'state', 'parentSeq', 'retiredSeq');
    expect(rows.slice(2, 4)).toEqual([
      { seq: 3, kind: 'prompt', state: 'hidden', parentSeq: 2, retiredSeq: 4 },
      { seq: 4, kind: 'prompt', state: 'active', parentSeq: 2, retiredSeq: null },
    ]);
    // The worker continues with the transcript in the rows.
    await say('orphan', 'third');
    expect((await derived('orphan')).map(saidIn).at(-1)).toHaveLength(3);
  });

  test('is sent together with the next one when the configuration says so', async () => {
    const own = await withTestDatabase();
    const merging = await createTurnRig(own.url, { settings: { session: { orphanedPrompts: 'merge' } } });
    const merger = merging.worker();
    try {
      for (const text of ['lost [[error: 403 times=always]]', 'second']) {
        await merging.send('merged', text);
        await merger.run('merged');
      }
      const last = merging.scripted.requests.at(-1);
      expect(last?.body).toMatchObject({ messages: [{ role: 'user', content: [{ type: 'text' }, { type: 'text' }] }] });
    } finally {
      merger.stop();
      await merging.close();
      await own.drop();
    }
  });
});

test('thinking of the model before a change is not sent to the next model, and is kept', async () => {
  await say('models', '[[thinking: secret]] [[reply: a]]');
  await say('models', 'still', {});
  await say('models', 'changed', { model: 'other' });
  await say('models', 'again', { model: 'other' });
  const requests = await derived('models');
  expect(requests.map(({ request }) => JSON.stringify(request).includes('"type":"thinking","thinking"'))).toEqual([
    false,
    true,
    false,
    false,
  ]);
  const [session] = await readSessions(rig, { id: await rig.sessionOf('models') }, 'view');
  expect(session?.['view']).toMatchObject({
    models: [
      { seq: 1, model: 'claude-sonnet-5-5' },
      { seq: 5, model: 'claude-opus-4-1' },
    ],
  });
});

test('what was pruned in a call is pruned when it is derived, and unchanged in the next', async () => {
  for (let turn = 1; turn <= 3; turn += 1) await say('pruned', '[[tool: read {}]] [[tool: read {}]] [[reply: ok]]');
  const requests = await derived('pruned');
  const results = requests.map(({ request }) =>
    request.messages.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_result' ? [block.content] : [])),
    ),
  );
  expect(JSON.stringify(results.at(-1))).toContain('[Tool result trimmed: kept first 1500 chars');
  const views = await readModelCalls(rig, { sessionId: await rig.sessionOf('pruned') }, 'view');
  expect(views.filter(({ view }) => view !== null).length).toBeGreaterThan(0);
  const stored = await readEntries(rig, { sessionId: await rig.sessionOf('pruned'), kind: 'results' }, 'contentText');
  expect(stored.filter(({ contentText }) => contentText.length > 20_000)).toHaveLength(6);
});

describe('turns that no user message caused', () => {
  test('an acknowledged poll is not in the next request', async () => {
    await say('polled', 'hi');
    await rig.send('polled', 'Poll. [[reply: HEARTBEAT_OK]]', {}, 'heartbeat');
    await worker.run('polled');
    await say('polled', 'still there?');
    const requests = await derived('polled');
    expect(requests.map(({ request }) => JSON.stringify(request.messages).includes('HEARTBEAT_OK'))).toEqual([
      false,
      true,
      false,
    ]);
  });

  test('a message of another session names that session, in every request', async () => {
    const provenance = { kind: 'inter_session', sourceSession: 'agent:main:other', sourceTool: 'sessions_send' };
    await rig.send('told', 'do x', { provenance } as never, 'announcement');
    await worker.run('told');
    await say('told', 'and?');
    const requests = await derived('told');
    for (const request of requests) {
      expect(saidIn(request)[0]).toBe(
        '[Inter-session message] sourceSession=agent:main:other sourceTool=sessions_send\ndo x',
      );
    }
    expect(requests[1]?.parts.find(({ path }) => path === 'messages[0].content[0]')).toMatchObject({
      name: 'marker',
      trust: 'trusted',
    });
  });
});

test('the parts name the author and the size of each text of a request, and the end of the cached part', async () => {
  await say('parts', '[[tool: read {}]] [[reply: ok]]');
  const request = (await derived('parts')).at(-1) as DerivedRequest;
  const { parts } = request;
  const at = (path: string): RequestPart[] => parts.filter((part) => part.path === path);
  expect(at('tools[0]')[0]).toMatchObject({ name: 'read', trust: 'trusted' });
  // The whole system prompt, in the order of its sections.
  const [stable] = request.request.system ?? [];
  const sections = at('system[0]');
  expect(sections.length).toBeGreaterThan(10);
  expect(sections.map(({ span }) => stable?.text.slice(span?.start, span?.end)).join('\n')).toBe(stable?.text);
  expect(sections.map(({ cacheMarker }) => cacheMarker)).toEqual(
    sections.map((_, index) => index === sections.length - 1),
  );
  expect(at('messages[0].content[0]').at(-1)).toMatchObject({
    name: 'body',
    origin: 'sender',
    trust: 'untrusted',
    entry: { seq: 1, kind: 'prompt' },
  });
  expect(at('messages[1].content[0]')[0]).toMatchObject({ name: 'read', origin: 'model', trust: 'model' });
  const [result] = at('messages[2].content[0]');
  expect(result).toMatchObject({
    name: 'read',
    origin: 'tool:read',
    trust: 'untrusted',
    cacheMarker: true,
    tokens: 10_000,
  });
  expect(parts.every(({ tokens }) => tokens > 0)).toBe(true);
});

test('a call that does not exist has no request', async () => {
  const wanted = { turnId: '01a200b2-af01-73e8-8681-83b97fe6f9f3', callNo: 1, defaultThinking: () => 'off' as const };
  expect(await deriveRequest(rig.database, wanted)).toBeNull();
});
