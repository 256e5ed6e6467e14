// Goal: requests that wait for messages whose turn ends in their own process are answered by one
// query after its end, with exactly what is later read. Method: the database is behind a proxy that
// counts the statements and their bytes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { countInputs } from '../rows/inputs.ts';
import { withTestDatabase, type TestDatabase } from '../servers/postgres.ts';
import { startPostgresProxy, type PostgresProxy } from '../servers/postgres-proxy.ts';
import type { RoundTrip } from '../servers/round-trips.ts';
import { createApiRig, type ApiRig, type JsonAnswer } from './api-rig.ts';
import { eventually } from './use-api-rig.ts';

let database: TestDatabase;
let proxy: PostgresProxy;
let rig: ApiRig;
/** The queries for settlements since the test began, and the statements that end turns. */
let queries: RoundTrip[] = [];
let ends: RoundTrip[] = [];

beforeAll(async () => {
  database = await withTestDatabase();
  const { hostname: host, port } = new URL(database.url);
  proxy = await startPostgresProxy({ host, port: Number(port) });
  rig = await createApiRig(proxy.urlFor(database.url), { isOneProcess: true });
  proxy.onRoundTrip((trip) => {
    if (trip.outcome !== 'pending') return;
    if (trip.tag === 'settlements') queries.push(trip);
    if (trip.tag === 'finish-turn') ends.push(trip);
  });
});
afterAll(async () => {
  await rig?.close();
  await proxy?.close();
  await database?.drop();
});
beforeEach(() => {
  queries = [];
  ends = [];
});

/** The queries since the last turn ended. */
function queriesAfterEnd(): RoundTrip[] {
  const endedAt = ends.at(-1)?.endedAt ?? Number.NaN;
  return queries.filter(({ startedAt }) => startedAt >= endedAt);
}

/**
 * Sends messages to a new session, one after another, and runs its next turn when requests wait for
 * all of them.
 */
async function answersOf(...texts: string[]): Promise<JsonAnswer[]> {
  const key = `in-process-${newId<string>()}`;
  const sessionId = await rig.turns.sessionOf(key);
  const answers: Promise<JsonAnswer>[] = [];
  for (const text of texts) {
    answers.push(rig.post(`/v1/sessions/${key}/messages`, { text }, { prefer: 'wait=20' }));
    await eventually(() => countInputs(rig, { sessionId })).toBe(answers.length);
  }
  await eventually(waitingRequests).toBe(texts.length);
  expect(await rig.work(key)).toMatchObject({ kind: 'ended' });
  return Promise.all(answers);
}

async function waitingRequests(): Promise<number> {
  return Number(/^holdfast_waiting_requests (\d+)/m.exec((await rig.get('/metrics')).body)?.[1]);
}

/**
 * The spans that follow from the turn's own times; its other waits are only read for its detail.
 */
const OF_ITS_TIMES = new Set(['queue.wait', 'prompt.assemble', 'rate.wait', 'model.call', 'compaction', 'tool.exec']);

/**
 * Expects an answer to equal what is later read of its message and its turn, except for what only
 * the detail of a turn has.
 */
async function expectTrue({ status, body }: JsonAnswer): Promise<void> {
  expect(status).toBe(200);
  const [message, turn] = await Promise.all([
    rig.get(`/v1/messages/${body.message.id}`),
    rig.get(`/v1/turns/${body.turn.id}`),
  ]);
  const {
    attempts: _attempts,
    previousTurnId: _previous,
    nextTurnId: _next,
    scores: _scores,
    spans,
    ...named
  } = turn.body;
  const facts = withoutWords(named);
  const detail = { ...facts, spans: spans.filter(({ kind }: { kind: string }) => OF_ITS_TIMES.has(kind)) };
  expect(body).toEqual({
    message: withoutWords(message.body),
    turn: detail,
    reply: message.body.reply,
    output: turn.body.output,
  });
}

/** An answer to a message has no words for people. */
function withoutWords({ title: _title, sessionTitle: _session, workerTitle: _worker, ...facts }: JsonAnswer['body']) {
  return facts;
}

describe('a wait that ends with its turn', () => {
  test('has every step of an answered turn', async () => {
    const [answer] = await answersOf('[[tool: echo {"n": 1}]] [[tool: echo {"n": 2}]] [[reply: Twice, “done”.]]');
    expect(queriesAfterEnd().length).toBeLessThanOrEqual(1);
    expect(answer?.body).toMatchObject({
      message: { status: 'answered', reply: 'Twice, “done”.' },
      turn: {
        status: 'completed',
        stepCount: 3,
        steps: [
          { n: 1, calls: [{ stopReason: 'tool_use' }], tools: [{ name: 'echo', status: 'done' }] },
          { n: 2, calls: [{ stopReason: 'tool_use' }], tools: [{ name: 'echo', status: 'done' }] },
          { n: 3, calls: [{ stopReason: 'end_turn' }], tools: [] },
        ],
      },
    });
    await expectTrue(answer as JsonAnswer);
  });

  test('has the reason why a turn failed', async () => {
    const [answer] = await answersOf('[[tool: echo {}]] [[error: 400 times=always]]');
    expect(queriesAfterEnd().length).toBeLessThanOrEqual(1);
    expect(answer?.body).toMatchObject({
      message: { status: 'failed', reply: null, error: { code: expect.any(String) } },
      turn: { status: 'failed', steps: [{ tools: [{ name: 'echo' }] }, { calls: [{ status: 'failed' }] }] },
    });
    await expectTrue(answer as JsonAnswer);
  });

  test('is one for each message of a turn that answers several', async () => {
    const [first, second] = await answersOf('One.', 'Two. [[reply: To both.]]');
    expect(queriesAfterEnd().length).toBeLessThanOrEqual(1);
    expect([first?.body.message.text, second?.body.message.text]).toEqual(['One.', 'Two. [[reply: To both.]]']);
    expect(first?.body.turn).toEqual(second?.body.turn);
    await expectTrue(first as JsonAnswer);
    await expectTrue(second as JsonAnswer);
  });
});

test('the statement that ends a turn does not send its reply back', async () => {
  const reply = 'Long. '.repeat(50_000);
  const [answer] = await answersOf(`[[reply: ${reply}]]`);
  expect(answer?.body.reply).toBe(reply.trim());
  // It takes an entry, the reply, the event of the end, and the last words of the stream if those
  // were not stored before.
  expect(ends).toHaveLength(1);
  expect(ends[0]!.bytes / reply.length).toBeLessThan(5);
});

test('a turn whose end is sent twice answers its request (G23)', async () => {
  const dropped = proxy.arm({ when: 'after', matches: (trip) => trip.tag === 'finish-turn', at: 1, hit: () => 'drop' });
  const [answer] = await answersOf('[[reply: Heard twice.]]');
  expect((await dropped.reached).tag).toBe('finish-turn');
  expect(ends).toHaveLength(2);
  expect(answer?.body.reply).toBe('Heard twice.');
  await expectTrue(answer as JsonAnswer);
});
