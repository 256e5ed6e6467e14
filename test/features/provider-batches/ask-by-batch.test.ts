// Turns whose model calls go through provider batches, from the worker's side: the request, the
// park, the answer that ends it, and all that reaches a turn while it waits. The tests store
// answers as the poller does; no batch is submitted.
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { InboundMessage } from '../../../src/core/inbound.ts';
import { abortSession, abortTurn } from '../../../src/kernel/effects/control.ts';
import type { RequestResult } from '../../../src/features/provider-batches/rules/request-end.ts';
import { storeResults } from '../../../src/features/provider-batches/store/store-results.ts';
import { resetSession } from '../../../src/kernel/sessions/reset-session.ts';
import { retryTurn } from '../../../src/kernel/turn/journal/retry-turn.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import { viewTurn } from '../../../src/kernel/views/turns.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { readModelCalls } from '../../rows/calls.ts';
import { changeDoorbells, readDoorbells } from '../../rows/doorbells.ts';
import { readEvents } from '../../rows/events.ts';
import { changeInputs, readInputs } from '../../rows/inputs.ts';
import {
  addProviderBatches,
  changeProviderRequests,
  readProviderRequests,
  removeProviderBatches,
} from '../../rows/provider-batches.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { ago, earlier, now, withFields } from '../../rows/table.ts';
import { changeTurns, readTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

const effects: unknown[] = [];
const note: Tool = {
  spec: { name: 'note', description: 'Notes something.', input_schema: { type: 'object' } },
  summary: 'notes something',
  isIdempotent: false,
  run: async (input) => {
    effects.push(input);
    return { content: 'noted', isError: false };
  },
};

let rig: TurnRig;
let worker: ReturnType<TurnRig['worker']>;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [note] });
  onEnd(() => rig.close());
  worker = rig.worker();
});

const messageOf = (id: string) => viewMessage(rig.database.views, id);
const turnOf = (id: string) => viewTurn(rig.database.views, id);

/** Sends a message that uses the provider lane, and runs its turn until it waits. */
async function parked(name: string, more: Partial<InboundMessage> = {}) {
  const messageId = await rig.send(name, `hello ${name}`, { via: 'provider-batch', ...more });
  expect(await worker.run(name)).toMatchObject({ kind: 'parked', after: { rings: [] } });
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id')).at(-1);
  return { messageId, turnId: String(turn?.['id']) };
}

const requestsOf = (turnId: string) => readProviderRequests(rig, { turnId }, 'callNo', 'status', 'result');

const doorbellsOf = async (name: string) => readDoorbells(rig, { sessionId: await rig.sessionOf(name) }, 'sessionId');

const OVERLOADED = {
  status: 'errored',
  result: null,
  error: { type: 'overloaded_error', message: 'Overloaded' },
} as const;

/** The calls of the tool that an answer can have. */
const noteCall = (word: string) => ({ type: 'tool_use', id: `toolu_${word}`, name: 'note', input: { word } });

const countEvents = async (turnId: string, type: string) =>
  (await readEvents(rig, { turnId }, 'type')).filter((row) => row['type'] === type).length;

/** Stores an answer to the last request of a turn, as the poller does. */
async function answer(turnId: string, content: object[], stopReason = 'end_turn') {
  const [last] = (await requestsOf(turnId)).toReversed();
  const usage = { input_tokens: 10, output_tokens: 5, service_tier: 'batch' };
  const message = {
    id: `msg_${turnId}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5-5',
    content,
    stop_reason: stopReason,
    usage,
  };
  return await finish(turnId, Number(last?.['callNo']), {
    status: 'answered',
    result: message,
    error: null,
  });
}

async function finish(turnId: string, callNo: number, end: Omit<RequestResult, 'requestNo'>) {
  const providerBatchId = '01900000-0000-7000-8000-000000000000';
  await changeProviderRequests(
    rig,
    { turnId, callNo, status: 'queued' },
    { status: 'assigned', providerBatchId, requestNo: 0 },
  );
  const stored = await storeResults(rig.database, { providerBatchId, results: [{ requestNo: 0, ...end }] });
  await changeProviderRequests(rig, { turnId }, { providerBatchId: null });
  return stored;
}

/** Makes a message so old that its turn makes live calls from now on. */
const passDeadline = (messageId: string) => changeInputs(rig, { id: messageId }, { receivedAt: earlier('3 days') });

const text = (words: string) => [{ type: 'text', text: words }];

describe('a turn by way of a batch of the provider', () => {
  test('is parked after its request is stored, and no model is called', async () => {
    const before = rig.scripted.requestCount;
    const { messageId, turnId } = await parked('hop');
    expect(rig.scripted.requestCount).toBe(before);
    expect(await requestsOf(turnId)).toEqual([{ callNo: 1, status: 'queued', result: null }]);
    expect(await doorbellsOf('hop')).toEqual([]);
    const why = { code: 'provider_batch', by: 'anthropic', until: null };
    expect(await turnOf(turnId)).toMatchObject({ status: 'parked', attempt: 1, why });
    expect(await messageOf(messageId)).toMatchObject({ status: 'claimed', why });
  });

  test('runs its tools after each answer and ends with the last one, as a live turn does (G11)', async () => {
    const { messageId, turnId } = await parked('tools');
    expect(await answer(turnId, [...text('I note it.'), noteCall('one')], 'tool_use')).toMatchObject({
      after: { rings: [{}] },
    });
    expect(await worker.run('tools')).toMatchObject({ kind: 'parked' });
    expect(effects).toContainEqual({ word: 'one' });
    expect(await requestsOf(turnId)).toMatchObject([{ status: 'answered' }, { status: 'queued', result: null }]);
    await answer(turnId, text('done'));
    expect(await worker.run('tools')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'done' });
    expect(await requestsOf(turnId)).toEqual([
      { callNo: 1, status: 'answered', result: null },
      { callNo: 2, status: 'answered', result: null },
    ]);
    const calls = await readModelCalls(rig, { turnId }, 'callNo', 'tier', 'inputTokens');
    expect(calls).toEqual([
      { callNo: 1, tier: 'batch', inputTokens: 10 },
      { callNo: 2, tier: 'batch', inputTokens: 10 },
    ]);
    for (const type of ['turn.parked', 'turn.resumed', 'model.started', 'model.ended'])
      expect(await countEvents(turnId, type)).toBe(2);
    expect(await turnOf(turnId)).toMatchObject({ attempt: 1 });
  });

  test('asks for the form of its answer, and for its correction, in the requests of the batch', async () => {
    const properties = { n: { type: 'integer' } };
    const schema = { type: 'object', properties, required: ['n'], additionalProperties: false };
    const { turnId } = await parked('formed', { options: { responseFormat: { type: 'json_schema', schema } } });
    const expectForm = async () => {
      const [queued] = await readProviderRequests(rig, { turnId, status: 'queued' }, 'params');
      const form = { output_config: { format: { type: 'json_schema', schema } } };
      expect(JSON.parse(gunzipSync(queued?.['params'] as Buffer).toString())).toMatchObject(form);
    };
    await expectForm();
    await answer(turnId, text('{"n": "one"}'));
    expect(await worker.run('formed')).toMatchObject({ kind: 'parked' });
    await expectForm();
    await answer(turnId, text('{"n": 1}'));
    expect(await worker.run('formed')).toMatchObject({ kind: 'ended' });
    expect(await turnOf(turnId)).toMatchObject({ status: 'completed', output: { n: 1 }, stepCount: 2 });
  });

  test('asks again after a temporary error, and fails after a permanent one (G16)', async () => {
    const { messageId, turnId } = await parked('refused');
    await finish(turnId, 1, OVERLOADED);
    expect(await worker.run('refused')).toMatchObject({ kind: 'parked' });
    expect(await requestsOf(turnId)).toMatchObject([{ status: 'errored' }, { callNo: 2, status: 'queued' }]);
    expect(await readTurns(rig, { id: turnId }, 'retries')).toEqual([{ retries: 1 }]);
    const invalid = { type: 'invalid_request_error', message: 'max_tokens is too large' };
    await finish(turnId, 2, { status: 'errored', result: null, error: invalid });
    expect(await worker.run('refused')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({
      status: 'failed',
      error: { code: 'model_invalid_request' },
    });
  });

  test('stores a refused call and charges its retry also when the next call is made live (G16)', async () => {
    const { messageId, turnId } = await parked('refused-late');
    await finish(turnId, 1, OVERLOADED);
    await passDeadline(messageId);
    expect(await worker.run('refused-late')).toMatchObject({ kind: 'ended' });
    expect(await readModelCalls(rig, { turnId }, 'callNo', 'status', 'tier')).toEqual([
      { callNo: 1, status: 'failed', tier: 'batch' },
      { callNo: 2, status: 'ok', tier: 'standard' },
    ]);

    expect(await readTurns(rig, { id: turnId }, 'status', 'calls', 'retries')).toEqual([
      { status: 'completed', calls: 2, retries: 1 },
    ]);
  });

  test('makes no live call after the deadline if it may not fall back to one', async () => {
    const { messageId, turnId } = await parked('no-fallback');
    await changeInputs(rig, { id: messageId }, { body: withFields({ fallback: 'fail' }) });
    await answer(turnId, [noteCall('late')], 'tool_use');
    await passDeadline(messageId);
    const before = rig.scripted.requestCount;
    expect(await worker.run('no-fallback')).toMatchObject({ kind: 'ended' });
    expect(rig.scripted.requestCount).toBe(before);
    expect(await messageOf(messageId)).toMatchObject({ status: 'failed', error: { code: 'expired' } });
    expect(await readModelCalls(rig, { turnId }, 'callNo', 'status', 'tier')).toEqual([
      { callNo: 1, status: 'ok', tier: 'batch' },
    ]);
  });

  test('uses an answer that came before the deadline also when it is claimed after it', async () => {
    const { messageId, turnId } = await parked('just-in-time');
    await answer(turnId, text('in time'));
    await changeInputs(rig, { id: messageId }, { body: withFields({ fallback: 'fail', expiresAt: 1 }) });
    expect(await worker.run('just-in-time')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'in time' });
  });

  test('waits for an unavailable model as long as any turn does, after a day in the lane (G33)', async () => {
    const { messageId, turnId } = await parked('late-outage', { text: '[[error: 529]] [[reply: back]]' });
    await passDeadline(messageId);
    await changeProviderRequests(rig, { turnId }, { status: 'live' });
    await changeTurns(rig, { id: turnId }, { parkSince: earlier('2 days') });
    await rig.send('late-outage', 'wakes it', { mode: 'followup' });
    expect(await worker.run('late-outage')).toMatchObject({ kind: 'parked' });
    expect(await turnOf(turnId)).toMatchObject({ status: 'parked', why: { code: 'model_away' } });
    await changeDoorbells(rig, { sessionId: await rig.sessionOf('late-outage') }, { dueAt: now });
    expect(await worker.run('late-outage')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'back' });
  });

  test('is not parked for an answer that arrived while it was being parked', async () => {
    const { turnId } = await parked('race');
    await rig.send('race', 'and more', { mode: 'followup' });
    const { runs } = await claimedWhile('race', () => answer(turnId, text('in time')));
    expect(runs).toMatchObject({ kind: 'parked', after: { rings: [{}] } });
    expect(await doorbellsOf('race')).toHaveLength(1);
    expect(await worker.run('race')).toMatchObject({ kind: 'ended' });
  });

  test.each([true, false])(
    'is not parked for an answer that arrived between its request and its park (counted: %s)',
    async (isCounted) => {
      const name = `race-${isCounted}`;
      await rig.send(name, `hello ${name}`, { via: 'provider-batch' });
      const sessionId = await rig.sessionOf(name);
      const { runs } = await claimedWhile(name, async () => {
        const [turn] = await readTurns(rig, { sessionId }, 'id');
        expect(await answer(String(turn?.['id']), text('at once'))).toMatchObject({ after: { rings: [] } });
        // A scheduler of version 0.1.0 does not count it.
        if (!isCounted) await changeSessions(rig, { id: sessionId }, { heldSeq: 0 });
      });
      expect(runs).toMatchObject({ kind: 'parked', after: { rings: [{ sessionId }] } });
      expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
    },
  );

  test('asks once when its worker is lost between the request and the park (G2, G16)', async () => {
    const { messageId, sessionId } = await lostBeforePark('lost-park');
    await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
    expect(await worker.run('lost-park')).toMatchObject({ kind: 'parked', after: { rings: [] } });
    const [turn] = await readTurns(rig, { sessionId }, 'id', 'calls', 'attempt');
    expect(turn).toMatchObject({ calls: 1, attempt: 2 });
    const turnId = String(turn?.['id']);
    expect(await requestsOf(turnId)).toEqual([{ callNo: 1, status: 'queued', result: null }]);
    await answer(turnId, text('asked once'));
    expect(await worker.run('lost-park')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'asked once' });
    for (const type of ['model.started', 'turn.parked']) expect(await countEvents(turnId, type)).toBe(1);
  });

  test('uses an answer that came before the turn of a lost worker was parked', async () => {
    const { messageId, sessionId } = await lostBeforePark('never-parked');
    const [turn] = await readTurns(rig, { sessionId }, 'id');
    await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: ago('1 second') });
    const rung = { after: { rings: [{ sessionId }] } };
    expect(await answer(String(turn?.['id']), text('without a park'))).toMatchObject(rung);
    expect(await worker.run('never-parked')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'without a park' });
  });

  test('stores its request once when the statement is sent again after an unknown COMMIT (G23)', async () => {
    const { turnId } = await parked('twice');
    await answer(turnId, [noteCall('three')], 'tool_use');
    const resent = interceptHot((sql) => sql.includes('/* store-request */'));
    expect(await worker.run('twice')).toMatchObject({ kind: 'parked' });
    expect(resent()).toBe(2);
    expect(await requestsOf(turnId)).toMatchObject([{ status: 'answered' }, { callNo: 2, status: 'queued' }]);
    expect(await readTurns(rig, { id: turnId }, 'calls')).toEqual([{ calls: 2 }]);
    expect(await countEvents(turnId, 'model.started')).toBe(2);
  });

  test('leaves the lane earlier before its deadline when recent submissions took longer', async () => {
    const leavesBeforeMs = async (name: string) => {
      const { turnId } = await parked(name);
      const [input] = await readInputs(rig, { turnId }, 'receivedAt');
      const [request] = await readProviderRequests(rig, { turnId }, 'leaveAt');
      return rig.config.batches.deadlineSeconds * 1000 + Number(input?.receivedAt) - Number(request?.leaveAt);
    };
    expect(await leavesBeforeMs('unknown-time')).toBeCloseTo(15 * 60_000, -1);
    for (let n = 0; n < 20; n += 1)
      await addProviderBatches(rig, { status: 'read', submitStartedAt: ago('40 minutes'), endedAt: now });
    expect(await leavesBeforeMs('known-time')).toBeCloseTo(40 * 60_000, -1);
    await removeProviderBatches(rig);
  });

  test('makes a live call once its deadline is near', async () => {
    const { messageId, turnId } = await parked('late');
    await changeProviderRequests(rig, { turnId }, { status: 'live' });
    await rig.send('late', 'wakes it', { mode: 'followup' });
    expect(await worker.run('late')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered' });
  });
});

/** Sends a message whose worker is lost after its request was stored, before its turn is parked. */
async function lostBeforePark(name: string) {
  const lost = rig.worker();
  const messageId = await rig.send(name, 'hello', { via: 'provider-batch' });
  const { promise: isLost, resolve: lose } = Promise.withResolvers<void>();
  lost.context.store.parkTurn = () => (lose(), new Promise(() => undefined));
  void lost.run(name);
  await isLost;
  lost.stop();
  return { messageId, sessionId: await rig.sessionOf(name) };
}

/** Loses the answer of the next such statement, once; resolves with how often it was sent. */
function interceptHot(isMeant: (sql: string) => boolean): () => number {
  const { hot } = rig.database;
  const query = hot.query.bind(hot) as (sent: { text: string }) => Promise<unknown>;
  let sent = 0;
  const losing = async (one: { text: string }): Promise<unknown> => {
    const result = await query(one);
    if (typeof one !== 'object' || !isMeant(one.text)) return result;
    sent += 1;
    if (sent === 1) throw Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' });
    return result;
  };
  Object.assign(hot, { query: losing });
  onTestFinished(() => void Object.assign(hot, { query }));
  return () => sent;
}

/** Runs a turn whose park is held back until `act` is done. */
async function claimedWhile(name: string, act: () => Promise<unknown>) {
  const { store } = worker.context;
  const parkTurn = store.parkTurn;
  worker.context.store = {
    ...store,
    parkTurn: async (park) => {
      await act();
      return await parkTurn(park);
    },
  };
  const runs = await worker.run(name);
  worker.context.store = store;
  return { runs };
}

describe('a turn that waits for a batch of the provider', () => {
  test('is ended by a stop of its session and by a stop of the turn, and its request is dropped (G24)', async () => {
    const first = await parked('stop');
    const stopped = await abortSession(rig, { sessionKey: 'agent:main:stop', keepQueued: false });
    expect(stopped).toMatchObject({ aborted: first.turnId, after: { rings: [{}] } });
    const second = await parked('stop-turn');
    expect(await abortTurn(rig.database, { turnId: second.turnId })).toMatchObject({
      kind: 'stopped',
      after: { rings: [{}] },
    });
    for (const [name, { turnId, messageId }] of [
      ['stop', first],
      ['stop-turn', second],
    ] as const) {
      expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
      expect(await requestsOf(turnId)).toMatchObject([{ status: 'dropped' }]);
      expect(await messageOf(messageId)).toMatchObject({ status: 'cancelled' });
      expect(await doorbellsOf(name)).toEqual([]);
    }
  });

  test('is ended by a message of mode interrupt, which is answered next (G24)', async () => {
    const { turnId, messageId } = await parked('interrupt');
    const next = await rig.send('interrupt', 'no, this [[reply: this]]', { mode: 'interrupt' });
    expect(await worker.run('interrupt')).toMatchObject({ kind: 'ended' });
    expect(await requestsOf(turnId)).toMatchObject([{ status: 'dropped' }]);
    expect(await messageOf(messageId)).toMatchObject({ status: 'cancelled' });
    expect(await worker.run('interrupt')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(next)).toMatchObject({ status: 'answered', reply: 'this' });
  });

  test('takes a message of mode steer after the answer, and is not charged for the check (G3, G16)', async () => {
    const { turnId } = await parked('steer');
    const steered = await rig.send('steer', 'and also this', { mode: 'steer' });
    expect(await worker.run('steer')).toMatchObject({ kind: 'parked', after: { rings: [] } });
    expect(await requestsOf(turnId)).toMatchObject([{ callNo: 1, status: 'queued' }]);
    expect(await readTurns(rig, { id: turnId }, 'calls')).toEqual([{ calls: 1 }]);
    await answer(turnId, [noteCall('two')], 'tool_use');
    expect(await worker.run('steer')).toMatchObject({ kind: 'parked' });
    expect(await messageOf(steered)).toMatchObject({ status: 'claimed', turnId });
    await answer(turnId, text('both'));
    expect(await worker.run('steer')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(steered)).toMatchObject({ status: 'answered', reply: 'both' });
  });

  test('lets an ordinary message wait for its end', async () => {
    const { turnId } = await parked('followup');
    const next = await rig.send('followup', 'next [[reply: second]]', { mode: 'followup' });
    expect(await worker.run('followup')).toMatchObject({ kind: 'parked' });
    expect(await messageOf(next)).toMatchObject({ status: 'waiting' });
    await answer(turnId, text('first'));
    expect(await worker.run('followup')).toMatchObject({ kind: 'ended', after: { rings: [{}] } });
    expect(await worker.run('followup')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(next)).toMatchObject({ status: 'answered', reply: 'second' });
  });

  test('refuses a reset until it is stopped, and then a new transcript begins (G15)', async () => {
    await parked('reset');
    expect(await resetSession(rig.database, 'agent:main:reset', { idempotency: null, isTrusted: true })).toMatchObject({
      kind: 'running',
    });
    await abortSession(rig, { sessionKey: 'agent:main:reset', keepQueued: true });
    await worker.run('reset');
    expect(await resetSession(rig.database, 'agent:main:reset', { idempotency: null, isTrusted: true })).toMatchObject({
      kind: 'ok',
      transcriptNo: 2,
    });
  });

  test('lets a compaction wait for its end', async () => {
    const { turnId } = await parked('compact');
    const compaction = await rig.send('compact', '', {}, 'compaction');
    expect(await worker.run('compact')).toMatchObject({ kind: 'parked' });
    await answer(turnId, text('first'));
    expect(await worker.run('compact')).toMatchObject({ kind: 'ended', after: { rings: [{}] } });
    expect(await worker.run('compact')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(compaction)).toMatchObject({ status: 'answered' });
  });

  test('is retried only after it was stopped, with a new request (G17)', async () => {
    const { turnId, messageId } = await parked('retry');
    expect(await retryTurn(rig.database, turnId)).toMatchObject({ kind: 'conflict' });
    await abortTurn(rig.database, { turnId });
    await worker.run('retry');
    expect(await retryTurn(rig.database, turnId)).toMatchObject({ kind: 'ok', messageIds: [messageId] });
    expect(await worker.run('retry')).toMatchObject({ kind: 'parked' });
    const turn = (await readTurns(rig, { sessionId: await rig.sessionOf('retry') }, 'id')).at(-1);
    await answer(String(turn?.['id']), text('again'));
    expect(await worker.run('retry')).toMatchObject({ kind: 'ended' });
    expect(await messageOf(messageId)).toMatchObject({ status: 'answered', reply: 'again' });
  });
});
