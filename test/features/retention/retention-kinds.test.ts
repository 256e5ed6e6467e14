// Which old rows are deleted, and which stay: real rows in each state are aged by SQL, a pass runs,
// and the tables are read.
import { expect, test } from 'vitest';
import { RETENTION_LATE_MS, retentionFinding } from '../../../src/cli/doctor/database-checks.ts';
import { beginRetention, RETENTION_KINDS } from '../../../src/features/retention/retention-kinds.ts';
import { newId } from '../../../src/ids.ts';
import { addCostReservations } from '../../rows/budgets.ts';
import { addModelCalls, addToolCalls, readModelCalls, readToolCalls } from '../../rows/calls.ts';
import { addDeadLetters, readDeadLetters } from '../../rows/dead-letters.ts';
import { addDeliveries, readDeliveries } from '../../rows/deliveries.ts';
import { addYields } from '../../rows/doorbells.ts';
import {
  addCompactions,
  addEndedTranscripts,
  addEntries,
  countEndedTranscripts,
  countEntries,
} from '../../rows/entries.ts';
import { addEvents, removeEvents } from '../../rows/events.ts';
import { addInputs, changeInputs, countInputs, readInputs } from '../../rows/inputs.ts';
import { addIdempotencyKeys, readIdempotencyKeys } from '../../rows/keys.ts';
import { addProcesses } from '../../rows/processes.ts';
import { addProviderRequests } from '../../rows/provider-batches.ts';
import { changeRetention } from '../../rows/retention.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { addSystemEvents, readSystemEvents } from '../../rows/system-events.ts';
import { ago, earlier, now } from '../../rows/table.ts';
import { addTurns, countTurns, readTurns } from '../../rows/turns.ts';
import { lockRow } from '../../rows/whole-tables.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';

const DAY_MS = 86_400_000;
const KEEP_MS = 90 * DAY_MS;
const NOW_MS = Date.now();

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

/** Runs passes of a kind until one is complete, and returns how many rows it deleted. */
async function pass(kind: string, keepMs = KEEP_MS): Promise<number> {
  await beginRetention(rig.database);
  const found = RETENTION_KINDS.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`There is no kind ${kind}.`);
  await changeRetention(rig.database.views, { kind }, { completedAt: null });
  for (let n = 0; n < 100; n += 1) {
    const step = await found(rig.database, keepMs);
    if (step === null) throw new Error('Another process holds the pass.');
    if (!step.hasMore) return step.deletedInPass;
  }
  throw new Error('The pass has no end.');
}

const idOf = (days: number, n: number): string => {
  const hex = (NOW_MS - days * DAY_MS).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
};
let made = 0;

/** An ended turn with one message, one call, one tool call and one attempt. */
async function oldTurn({ days = 100, isOpen = false, status = 'answered' } = {}) {
  const sessionId = await rig.session();
  made += 1;
  const id = idOf(days, made);
  const messageId = idOf(days, made + 100_000);
  const ended = isOpen ? null : new Date(NOW_MS - days * DAY_MS);
  await addTurns(rig.database.views, {
    id,
    sessionId,
    status: isOpen ? 'running' : 'completed',
    reply: 'the reply',
    endedAt: ended,
  });
  const received = { id: messageId, sessionId, seq: 1, receivedAt: ended ?? now };
  await addInputs(rig, { ...received, status: isOpen ? 'claimed' : status, turnId: id, settledAt: ended });
  await addModelCalls(rig.database.views, {
    turnId: id,
    callNo: 1,
    step: 1,
    epoch: 1,
    untilSeq: 1,
    status: 'ok',
    startedAt: now,
    endedAt: now,
  });
  await addToolCalls(rig.database.views, {
    turnId: id,
    step: 1,
    ordinal: 1,
    callId: 'c',
    name: 'read',
    isIdempotent: true,
    status: 'done',
    epoch: 1,
  });
  await addEntries(rig.database.views, {
    sessionId,
    seq: 1,
    id: idOf(days, made + 200_000),
    kind: 'prompt',
    role: 'user',
    content: [],
    turnId: id,
  });
  return { id, sessionId, messageId };
}

const turnIds = (rows: readonly { turnId: string }[]): string[] => rows.map(({ turnId }) => turnId);
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

test('a turn that ended long ago is deleted with its calls; its message keeps the reply, and its entries stay', async () => {
  const old = await oldTurn();
  const young = await oldTurn({ days: 10 });
  expect(await pass('turns')).toBe(1);
  expect(ids(await readTurns(rig))).toEqual([young.id]);
  expect(turnIds(await readModelCalls(rig))).toEqual([young.id]);
  expect(turnIds(await readToolCalls(rig))).toEqual([young.id]);
  expect(await readInputs(rig, { id: old.messageId }, 'reply')).toEqual([{ reply: 'the reply' }]);
  expect(await countEntries(rig, { sessionId: old.sessionId })).toBe(1);
});

// After all that the tests write.
const NEWEST_EVENT = Number.MAX_SAFE_INTEGER;

// The ways in which open work can need an ended turn, one write each.
test.each([
  ['that is open (G3)', { isOpen: true }],
  ['that its session has claimed', {}, ({ turnId, sessionId }) => changeSessions(rig, { id: sessionId }, { turnId })],
  ['with an open dead letter', {}, (of) => addDeadLetters(rig, of)],
  ['with a delivery that is not sent', {}, (of) => addDeliveries(rig, of)],
  ['that waits for its children', {}, (of) => addYields(rig, { ...of, epoch: 1, seconds: 1, dueAt: now })],
  [
    'with a reservation',
    {},
    (of) =>
      addCostReservations(rig, { ...of, callNo: 1, budgetId: newId<string>(), startsAt: now, epoch: 1, micros: 1 }),
  ],
  [
    'with a request in a batch of the provider',
    {},
    (of) => addProviderRequests(rig, { ...of, callNo: 1, model: 'm', paramsBytes: 1, paramsSha256: 's', leaveAt: now }),
  ],
  [
    'with a compaction that runs',
    {},
    (of) => addCompactions(rig, { ...of, transcriptNo: 1, reason: 'manual', attempt: 1, tokensBefore: 1 }),
  ],
  ['with a command in the background', {}, (of) => addProcesses(rig, { ...of, causeKey: 'k' })],
  ['whose message waits again', {}, (of) => changeInputs(rig, of, { status: 'waiting' })],
  [
    'whose end the roll-ups have not counted',
    {},
    (of) => addEvents(rig, { ...of, id: NEWEST_EVENT, type: 'turn.ended', data: {}, createdAt: ago('200 days') }),
  ],
] as [string, object, ((of: { turnId: string; sessionId: string }) => Promise<void>)?][])(
  'a turn %s stays',
  async (_name, how, needIt) => {
    const turn = await oldTurn(how);
    await needIt?.({ turnId: turn.id, sessionId: turn.sessionId });
    await pass('turns');
    expect(await countTurns(rig, { id: turn.id })).toBe(1);
    await removeEvents(rig.database.views, { id: NEWEST_EVENT });
  },
);

test('messages are deleted only when nothing of their session needs them', async () => {
  const only = await oldTurn();
  const first = await oldTurn();
  await addInputs(rig.database.views, {
    id: idOf(1, 900_000),
    sessionId: first.sessionId,
    seq: 2,
    status: 'waiting',
    body: {},
    route: 'r',
  });
  const keyed = await oldTurn();
  await addInputs(rig.database.views, {
    id: idOf(1, 900_001),
    sessionId: keyed.sessionId,
    seq: 2,
    status: 'waiting',
    body: {},
    route: 'r',
  });
  await changeInputs(rig.database.views, { id: keyed.messageId }, { answer: {} });
  await addIdempotencyKeys(rig.database.views, {
    scope: 's',
    key: 'k',
    requestSha256: 'x',
    resourceId: keyed.messageId,
    createdAt: ago('100 days'),
  });
  const left = async (id: string): Promise<number> => await countInputs(rig, { id });
  await pass('messages');
  expect([await left(only.messageId), await left(first.messageId), await left(keyed.messageId)]).toEqual([1, 0, 1]);
  // The key is deleted first, then its message (G2).
  expect(await pass('idempotencyKeys')).toBe(1);
  await pass('messages');
  expect(await left(keyed.messageId)).toBe(0);
});

test('a transcript that a reset ended is deleted in parts, and the current one stays', async () => {
  const { sessionId } = await oldTurn();
  await changeSessions(rig.database.views, { id: sessionId }, { transcriptNo: 2 });
  const answer = { sessionId, kind: 'answer', role: 'assistant', content: [], turnId: newId<string>() };
  const seqs = Array.from({ length: 4509 }, (_, n) => n + 2);
  await addEntries(rig, ...seqs.map((seq) => ({ ...answer, seq, transcriptNo: seq <= 4500 ? 1 : 2 })));
  await addEndedTranscripts(rig.database.views, {
    sessionId,
    transcriptNo: 1,
    lastSeq: 4500,
    endedAt: ago('100 days'),
  });
  expect(await pass('transcripts')).toBe(4500);
  expect(await countEntries(rig, { sessionId })).toBe(10);
  expect(await countEndedTranscripts(rig, { sessionId })).toBe(0);
});

test('keys of one moment are all deleted, also by a pass that a version from before migration 0047 began', async () => {
  const key = { scope: 'moment', requestSha256: 'x', createdAt: new Date(NOW_MS - 100 * DAY_MS) };
  await addIdempotencyKeys(rig, ...Array.from({ length: 2500 }, (_, n) => ({ ...key, key: String(n + 1) })));
  await beginRetention(rig.database);
  await changeRetention(rig, { kind: 'idempotencyKeys' }, { position: '["moment","7"]', cutoffAt: ago('90 days') });
  await pass('idempotencyKeys');
  expect(await readIdempotencyKeys(rig, { scope: 'moment' }, 'key')).toEqual([]);
});

test('deliveries, dead letters, system events and commands that have ended long ago are deleted, and open ones stay', async () => {
  const { sessionId } = await oldTurn();
  const statuses = ['sent', 'failed', 'unknown', 'pending'];
  for (const [n, status] of statuses.entries()) {
    const settledAt = status === 'pending' ? null : ago('100 days');
    await addDeliveries(rig, { id: idOf(100, 700_000 + n), sessionId, seq: 10 + n, status, settledAt });
  }
  for (const [n, state] of ['open', 'discarded'].entries()) {
    const deliveryId = n === 0 ? idOf(100, 700_001) : null;
    const settledAt = state === 'open' ? null : ago('100 days');
    await addDeadLetters(rig, {
      id: idOf(100, 710_000 + n),
      kind: 'delivery',
      sessionId,
      deliveryId,
      state,
      settledAt,
    });
    await addSystemEvents(rig.database.views, {
      id: idOf(100, 720_000 + n),
      sessionId,
      text: 't',
      state: ['queued', 'consumed'][n]!,
      settledAt: ago('100 days'),
    });
  }
  for (const kind of ['deliveries', 'deadLetters', 'systemEvents', 'processes']) await pass(kind);
  expect(await readDeliveries(rig, { sessionId }, 'status')).toEqual([
    { status: 'failed' },
    { status: 'unknown' },
    { status: 'pending' },
  ]);
  expect(await readDeadLetters(rig, { sessionId }, 'state')).toEqual([{ state: 'open' }]);
  expect(await readSystemEvents(rig, { sessionId }, 'state')).toEqual([{ state: 'queued' }]);
});

test('one process deletes at a time, and an interrupted pass is continued', async () => {
  await oldTurn();
  await pass('turns');
  await changeRetention(
    rig.database.views,
    { kind: 'turns' },
    { completedAt: null, position: idOf(95, 0), cutoffAt: ago('90 days') },
  );
  const before = await oldTurn({ days: 99 });
  const after = await oldTurn({ days: 93 });
  const other = await rig.database.views.connect();
  const turns = RETENTION_KINDS[0];
  try {
    await other.query('begin');
    await lockRow(other, 'retention', 'kind', 'turns');
    expect(await turns(rig.database, KEEP_MS)).toBeNull();
  } finally {
    await other.query('rollback');
    other.release();
  }
  await turns(rig.database, KEEP_MS);
  const left = await readTurns(rig, { id: [before.id, after.id] }, 'id');
  expect(left).toEqual([{ id: before.id }]);
  await pass('turns');
  expect(await readTurns(rig, { id: before.id }, 'id')).toEqual([]);
});

test('the doctor names the kinds whose deletion is late, and none that is not configured', async () => {
  const config = { retention: { turns: KEEP_MS } };
  await pass('turns');
  await pass('deliveries');
  expect(await retentionFinding(rig.url, config)).toMatchObject({ status: 'ok' });
  // As if no scheduler had run for two days.
  await changeRetention(rig, {}, { completedTo: earlier('2 days') });
  expect(await retentionFinding(rig.url, config)).toMatchObject({
    status: 'warning',
    reason: expect.stringContaining(`turns by ${(2 * RETENTION_LATE_MS) / 3_600_000} h`),
  });
  const { reason } = await retentionFinding(rig.url, config);
  expect(reason).not.toContain('deliveries');
});
