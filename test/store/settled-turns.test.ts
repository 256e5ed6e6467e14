// Goal: the end of a turn reports of its messages exactly what a later query returns, whatever the end itself writes; and if it
// cannot know, it reports nothing.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { JournalWrite, ModelCallRow, ToolIntent } from '../../src/kernel/turn/journal/journal.ts';
import type { Settlements } from '../../src/kernel/turn/journal/settled-turns.ts';
import type { TurnEnd } from '../../src/kernel/turn/journal/turn-end.ts';
import { viewSettlements } from '../../src/kernel/views/settlements.ts';
import { changeSessions } from '../rows/sessions.ts';
import { now } from '../rows/table.ts';
import { answer, createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

/** A turn over messages of a new session, and its first step in the journal: a model call and two tool calls. */
async function begun(messages = 1) {
  const sessionId = await rig.session();
  const inputs = Array.from({ length: messages }, (_, index) =>
    rig.input(sessionId, { body: JSON.stringify({ text: `Message "${index}" – 😀` }) }),
  );
  for (const input of inputs) await rig.accept(input);
  const { write } = await rig.opened(sessionId);
  const first = {
    ...write,
    entries: [answer('step')],
    modelCalls: [call(1, 1)],
    toolIntents: [intent(1, 0, 'intent'), intent(1, 1, 'intent')],
  };
  await rig.commitStep(first);
  const fence = { ...write.fence, baseSeq: write.fence.baseSeq + 1 };
  const next: JournalWrite = { ...write, fence, progress: { ...write.progress, calls: 2, steps: 2, outputTokens: 9 } };
  return { sessionId, ids: inputs.map((input) => input.messageId as string), next };
}

function call(callNo: number, step: number): ModelCallRow {
  return {
    callNo,
    step,
    view: null,
    requestSha256: null,
    untilSeq: 1,
    status: 'ok',
    stopReason: 'end_turn',
    responseId: null,
    error: { code: 'odd', n: [1.5, null] },
    inputTokens: 1,
    outputTokens: 2,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
    model: 'anthropic/model',
    cacheWrite1hTokens: 1,
    costMicros: 1_234_567,
    priceVersion: 'version',
    tier: 'batch',
    isEstimated: true,
    isSimulated: true,
    startedAt: new Date('2026-01-02T03:04:05.006Z'),
    firstChunkAt: null,
    endedAt: new Date('2026-01-02T03:04:06.789Z'),
    notes: { requestBytes: 1, responseBytes: 2, firstByteMs: null, durationMs: 0.25 },
  };
}

function intent(step: number, ordinal: number, status: ToolIntent['status']): ToolIntent {
  return { step, ordinal, callId: `call-${step}-${ordinal}`, name: 'look', isIdempotent: true, status };
}

async function settledBy(end: TurnEnd) {
  const ending = await rig.finishTurn(end);
  if (ending.kind !== 'ok') throw new Error('fenced');
  // One session is settled; how its messages ended is what the API reads.
  const [settlements] = (ending.after.settled ?? new Map()).values();
  return settlements as Settlements;
}

const readOf = (ids: string[]) => viewSettlements(rig.database.views, ids);

test('an end reports its own writes and the earlier rows, for each of its messages', async () => {
  const { ids, next } = await begun(2);
  const settled = await settledBy(
    goodEnd(next, {
      isAwaited: true,
      modelCalls: [call(2, 2)],
      toolIntents: [intent(1, 1, 'done'), intent(2, 0, 'failed'), intent(2, 1, 'done')],
      toolSettlements: [{ step: 1, ordinal: 0, status: 'unknown', result: { content: 'lost', isError: true } }],
    }),
  );
  expect(settled).toEqual(await readOf(ids));
  expect([...settled.keys()].toSorted()).toEqual(ids.toSorted());
  const steps = [...settled.values()][0]?.turn?.steps;
  expect(
    steps?.map(({ calls, tools }) => [calls.length, tools.map(({ status, runs }) => `${status} ${runs}`)]),
  ).toEqual([
    [1, ['unknown 1', 'intent 2']],
    [1, ['failed 1', 'done 1']],
  ]);
});

test.for<[string, Partial<TurnEnd>]>([
  ['failed', { status: 'failed', messageStatus: 'failed', reply: null, error: { code: 'c', message: 'why' } }],
  [
    'stopped',
    { status: 'aborted', messageStatus: 'cancelled', reply: null, error: { code: 'aborted', message: 'so' } },
  ],
  ['silent', { status: 'silent', messageStatus: 'silent', reply: null, entries: [] }],
  ['rolled back', { status: 'aborted', messageStatus: 'cancelled', reply: null, hides: 'turn', entries: [] }],
])('a turn that is %s reports it', async ([, more]) => {
  const { ids, next } = await begun();
  const settled = await settledBy(goodEnd(next, { isAwaited: true, ...more }));
  expect(settled.size).toBe(1);
  expect(settled).toEqual(await readOf(ids));
});

test('an end that leaves a message for another session and ends a run reports its own messages', async () => {
  const { ids, next } = await begun();
  const other = rig.input(await rig.session());
  const { turnId } = next.progress;
  const { messageId, sessionId, body } = other;
  const message = { id: messageId, sessionId, body, route: 'route', causeKey: 'cause' };
  const effects = [
    { id: newId<string>(), kind: 'message-sent', turnId, message },
    { id: newId<string>(), kind: 'run-ended', turnId, runId: null, end: null },
  ] as const;
  const settled = await settledBy(goodEnd(next, { isAwaited: true, effects }));
  expect([...settled.keys()]).toEqual(ids);
  expect(settled).toEqual(await readOf(ids));
});

test('of turns that end together, only those with waiting requests are reported', async () => {
  const turns = await Promise.all(Array.from({ length: 6 }, () => begun()));
  const settled = await Promise.all(
    turns.map(({ next }, index) =>
      settledBy(goodEnd(next, { isAwaited: index % 2 === 0, modelCalls: index < 3 ? [call(2, 2)] : [] })),
    ),
  );
  for (const [index, { ids }] of turns.entries()) {
    expect(settled[index]).toEqual(index % 2 === 0 ? await readOf(ids) : new Map());
  }
});

test('an end that was committed before reports nothing', async () => {
  const { next } = await begun();
  const end = goodEnd(next, { isAwaited: true });
  expect((await settledBy(end)).size).toBe(1);
  expect((await settledBy(end)).size).toBe(0);
});

test('an end that had to wait for its session reports nothing, because it cannot see what was written meanwhile', async () => {
  const { sessionId, ids, next } = await begun();
  const client = await rig.database.views.connect();
  try {
    await client.query('begin');
    await changeSessions(client, { id: sessionId }, { updatedAt: now });
    const settled = settledBy(goodEnd(next, { isAwaited: true }));
    const locked = `select query from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%finish-turn%'`;
    await expect.poll(() => rig.rows(locked)).toHaveLength(1);
    await client.query('commit');
    expect(await settled).toEqual(new Map());
  } finally {
    client.release();
  }
  expect((await readOf(ids)).size).toBe(1);
});
