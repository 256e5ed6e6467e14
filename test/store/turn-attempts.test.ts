// The attempts of a turn, from claims by the statement that makes them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { changeSessions } from '../rows/sessions.ts';
import { now } from '../rows/table.ts';
import { addToolCalls } from '../rows/calls.ts';
import { changeTurnAttempts, changeTurns, countTurnAttempts } from '../rows/turns.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

const see = async (id: string) => (await viewTurn(rig.database.views, id))!;

test('a turn that no other worker has claimed has one attempt and no row for it', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { turnId, write } = await rig.opened(sessionId);
  await rig.finishTurn(goodEnd(write));
  const turn = await see(turnId);
  expect(turn.attempts).toMatchObject([{ attempt: 1, endedAt: turn.endedAt, how: null }]);
  expect(await countTurnAttempts(rig, { turnId })).toBe(0);
  expect(turn.spans.map(({ kind }) => kind)).toContain('accept');
});

test('a turn shows how each of its attempts ended, and no span of it is negative', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { turnId, write } = await rig.opened(sessionId, 'worker-1');
  const reason = { code: 'rate_limited', text: 'A rate limit.', by: 'anthropic/m' };
  await rig.parkTurn({ ...write, reason, delayMs: 0, notBeforeMs: 0, heldSeq: 0, parks: 1 });
  expect((await see(turnId)).spans.at(-1)).toMatchObject({ kind: 'rate.wait', endedAt: null });
  await rig.claimed(sessionId, 'worker-2');
  await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
  const third = await rig.claimed(sessionId, 'worker-3');
  await rig.release({ sessionId, epoch: third.session.epoch });
  await rig.claimed(sessionId, 'worker-4');
  const turn = await see(turnId);
  expect(turn.attempts?.map(({ attempt, worker, how }) => [attempt, worker, how])).toEqual([
    [1, 'worker', 'parked'],
    [1, 'worker-2', 'lost'],
    [2, 'worker-3', 'released'],
    [3, 'worker-4', null],
  ]);
  const kinds = turn.spans.map(({ kind }) => kind);
  expect(kinds).toContain('rate.wait');
  expect(turn.spans.find(({ kind }) => kind === 'worker.lost')).toMatchObject({ name: 'worker' });
  for (const { startedAt, endedAt } of turn.spans) if (endedAt !== null) expect(endedAt >= startedAt).toBe(true);
});

test('a lost worker is a gap of its lease and the wait for the next, a call of it has no end after that, and the message waited only for the first', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { turnId } = await rig.opened(sessionId, 'worker-1');
  await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
  await rig.claimed(sessionId, 'worker-2');
  const at = (ms: number) => new Date(Date.UTC(2026, 0, 5, 12) + ms);
  const iso = (ms: number) => at(ms).toISOString();
  await changeTurns(rig, { id: turnId }, { queuedAt: at(0), startedAt: at(450), claimedAt: at(16_000) });
  await changeTurnAttempts(rig, { turnId }, { claimedAt: at(400), endedAt: at(15_800) });
  const call = { turnId, step: 1, epoch: 1, callId: 'a', name: 'exec', isIdempotent: false };
  await addToolCalls(rig, { ...call, ordinal: 1, status: 'unknown', intentAt: at(700), endedAt: at(16_100) });
  const turn = (await viewTurn(rig.database.views, turnId, 15_000))!;
  expect(turn).toMatchObject({ queuedAt: iso(0), firstClaimedAt: iso(400), claimedAt: iso(16_000) });
  expect(turn.attempts).toMatchObject([
    { how: 'lost', renewedAt: iso(800), endedAt: iso(15_800) },
    { renewedAt: null },
  ]);
  const span = (wanted: string) => turn.spans.find(({ kind }) => kind === wanted);
  expect(span('queue.wait')).toMatchObject({ startedAt: iso(0), endedAt: iso(400) });
  expect(span('tool.exec')).toMatchObject({ status: 'unknown', startedAt: iso(700), endedAt: iso(800) });
  expect(span('worker.lost')).toMatchObject({ startedAt: iso(800), endedAt: iso(16_000) });
});
