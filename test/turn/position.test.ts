// The position of a turn after a write: everything is derived from the write, and the earlier
// position object is unchanged.
import { expect, test } from 'vitest';
import type { Entry } from '../../src/core/entry.ts';
import type { EntryId, MessageId, TurnId } from '../../src/core/ids.ts';
import type { WaitingInput } from '../../src/kernel/sessions/claim-session.ts';
import type { ModelCallRow } from '../../src/kernel/turn/journal/journal.ts';
import { advance, type Position, joined, newEntry, NO_ROWS, type TurnWrite } from '../../src/kernel/turn/position.ts';

const turnId = 't' as TurnId;
const prompt: Entry = { ...entry('prompt', 'hello'), id: 'e5' as EntryId, seq: 5, parentSeq: 4, turnId };

const start: Position = {
  progress: {
    turnId,
    calls: 1,
    retries: 0,
    steps: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costMicros: 0,
    unpricedCalls: 0,
    isSimulated: false,
  },
  baseSeq: 5,
  lastEntry: prompt,
  inputs: [],
  sessionView: {},
  steerSeq: 0,
  isCharged: true,
  finishedCalls: [],
  heldCalls: new Map(),
  park: { code: 'model_away', text: '', parks: 2, waitedMs: 10 },
  tokens: { last: 0, reported: null, added: 3, compacted: null },
};

function entry(kind: Entry['kind'], text: string) {
  return newEntry(kind, kind === 'answer' ? 'assistant' : 'user', [{ type: 'text', text }]);
}

function call(callNo: number, end: Partial<ModelCallRow> = {}): ModelCallRow {
  const at = new Date(0);
  return {
    callNo,
    step: 1,
    view: null,
    requestSha256: null,
    untilSeq: 5,
    status: 'ok',
    stopReason: null,
    responseId: null,
    error: null,
    startedAt: at,
    firstChunkAt: null,
    endedAt: at,
    inputTokens: 100,
    outputTokens: 20,
    cacheReadTokens: 3,
    cacheWriteTokens: 0,
    model: 'anthropic/model',
    cacheWrite1hTokens: 0,
    costMicros: 7,
    priceVersion: 'version',
    tier: 'standard',
    isEstimated: false,
    isSimulated: false,
    ...end,
  };
}

const after = (position: Position, write: Partial<TurnWrite>): Position =>
  advance(position, {
    write: { ...NO_ROWS, ...write },
    sessionView: position.sessionView,
    steerSeq: position.steerSeq,
  });

test('entries become the end of the path, in their order', () => {
  const results = after(start, { entries: [entry('answer', 'a'), entry('results', 'b')] });
  expect(results).toMatchObject({ baseSeq: 7, lastEntry: { kind: 'results', seq: 7, parentSeq: 6, turnId } });
  expect(start).toMatchObject({ baseSeq: 5, lastEntry: { seq: 5 } });
});

test('a summary takes a number and is not the end of the path', () => {
  const compacted = after(start, { entries: [entry('summary', 's')], compactedTo: 40 });
  expect(compacted).toMatchObject({ baseSeq: 6, lastEntry: { seq: 5 } });
  expect(compacted.tokens).toEqual({ last: 40, reported: null, added: 3, compacted: 40 });
});

test('a charged call is used up by its row, and the next one is charged by the write that counts it (G16)', () => {
  const answered = after(start, { modelCalls: [call(1)] });
  expect(answered.isCharged).toBe(false);
  expect(after(answered, { totals: { calls: 2 } }).isCharged).toBe(true);
  expect(after(start, { modelCalls: [call(1, { status: 'failed' })], totals: { calls: 2 } }).isCharged).toBe(true);
  const takenOver = { ...start, isCharged: false };
  expect(after(takenOver, { toolIntents: [] }).isCharged).toBe(false);
});

test('an answer sets the size of the context, and what follows is added to it', () => {
  const write = joined(
    { ...NO_ROWS, modelCalls: [call(1)], entries: [entry('answer', 'long '.repeat(50))], totals: { steps: 1 } },
    { ...NO_ROWS, entries: [entry('results', 'four')] },
  );
  const { tokens } = after(start, write);
  expect(tokens).toMatchObject({ last: 123, reported: { tokens: 123 } });
  expect(tokens.added).toBeGreaterThan(0);
  expect(tokens.added).toBeLessThan(50);
  expect(after(start, { modelCalls: [call(1, { purpose: 'compaction' })] }).tokens).toEqual(start.tokens);
});

test('the wait for the model ends with its answer', () => {
  expect(after(start, { modelCalls: [call(1, { status: 'failed' })] }).park).toBe(start.park);
  expect(after(start, { modelCalls: [call(1)], totals: { steps: 1 } }).park).toBeNull();
});

test('messages that join are answered with the others', () => {
  const input = { id: 'm' as MessageId, kind: 'message' } as WaitingInput;
  const joining = { inputs: [input], steers: { ids: [input.id], followUps: [] } };
  expect(after(start, { joining }).inputs).toEqual([input]);
});

test('calls that finish before their batch are kept until an entry has their results', () => {
  const finished = { step: 1, ordinal: 2, status: 'done', result: { content: 'found', isError: false } } as const;
  const stored = after(start, { toolSettlements: [finished] });
  expect(stored.finishedCalls).toEqual([finished]);
  expect(after(stored, {}).finishedCalls).toEqual([finished]);
  expect(after(stored, { entries: [entry('results', 'b')] }).finishedCalls).toEqual([]);
});
