// `open-turn`: one statement creates the turn and its prompt and claims its messages.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { stopFamily } from '../../src/kernel/effects/stop-family.ts';
import { countEntries, readEntries } from '../rows/entries.ts';
import { countEvents } from '../rows/events.ts';
import { changeInputs, readInputs } from '../rows/inputs.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
import { countTurns } from '../rows/turns.ts';
import { createStoreRig, newTurn, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

async function claimedWithMessage() {
  const sessionId = await rig.session();
  const input = rig.input(sessionId);
  await rig.accept(input);
  return { sessionId, messageId: input.messageId, claimed: await rig.claimed(sessionId), turnId: newId<TurnId>() };
}

const counts = async (sessionId: string) => ({
  turns: await countTurns(rig, { sessionId }),
  entries: await countEntries(rig, { sessionId }),
  events: await countEvents(rig, { sessionId }),
});

test('an opening stores the turn and its prompt, claims its messages and empties the inbox', async () => {
  const { sessionId, messageId, claimed, turnId } = await claimedWithMessage();
  expect(await rig.openTurn(newTurn(claimed, turnId))).toMatchObject({ kind: 'ok' });
  expect(await readSessions(rig, { id: sessionId }, 'turnId', 'waiting', 'entrySeq')).toEqual([
    { turnId: turnId, waiting: 0, entrySeq: 1 },
  ]);
  expect(await readInputs(rig, { id: messageId }, 'status', 'turnId')).toEqual([{ status: 'claimed', turnId: turnId }]);
  expect(await readEntries(rig, { turnId }, 'kind', 'seq')).toEqual([{ kind: 'prompt', seq: 1 }]);
});

test('an opening that is sent again is stored once (G23)', async () => {
  const { sessionId, claimed, turnId } = await claimedWithMessage();
  const turn = newTurn(claimed, turnId);
  expect(await rig.openTurn(turn)).toMatchObject({ kind: 'ok' });
  const before = await counts(sessionId);
  expect(await rig.openTurn(turn)).toMatchObject({ kind: 'ok' });
  expect(await counts(sessionId)).toEqual(before);
});

test('a session that was stopped after the claim opens no turn (G24)', async () => {
  const { sessionId, claimed, turnId } = await claimedWithMessage();
  const stop = {
    sessionId,
    keepsQueued: true,
    reason: 'a test',
    status: 'killed',
    result: null,
    isOwn: false,
  } as const;
  await stopFamily(rig, stop);
  expect(await rig.openTurn(newTurn(claimed, turnId))).toEqual({ kind: 'stopped' });
  expect(await counts(sessionId)).toMatchObject({ turns: 0, entries: 0 });
});

test('an input that was settled since the claim is not claimed again, and the count of the inbox stays right (G4)', async () => {
  const { sessionId, messageId, claimed, turnId } = await claimedWithMessage();
  await rig.accept(rig.input(sessionId));
  // As an earlier version cancelled the waiting items of a batch.
  await changeInputs(rig, { id: messageId }, { status: 'cancelled', settledAt: new Date() });
  await changeSessions(rig, { id: sessionId }, { waiting: 1 });
  expect(await rig.openTurn(newTurn(claimed, turnId))).toMatchObject({ kind: 'ok' });
  expect(await readInputs(rig, { sessionId }, 'status')).toEqual([{ status: 'cancelled' }, { status: 'waiting' }]);
  expect(await readSessions(rig, { id: sessionId }, 'waiting')).toEqual([{ waiting: 1 }]);
});
