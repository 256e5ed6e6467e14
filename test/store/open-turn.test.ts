// `open-turn`: one statement creates the turn and its prompt and claims its messages.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { stopFamily } from '../../src/store/stop-family.ts';
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

const counts = (sessionId: string) =>
  rig.rows(
    `select (select count(*)::int from holdfast.turns where session_id = $1) as turns,
       (select count(*)::int from holdfast.entries where session_id = $1) as entries,
       (select count(*)::int from holdfast.events where session_id = $1) as events`,
    [sessionId],
  );

test('an opening stores the turn and its prompt, claims its messages and empties the inbox', async () => {
  const { sessionId, messageId, claimed, turnId } = await claimedWithMessage();
  expect(await rig.openTurn(newTurn(claimed, turnId))).toMatchObject({ kind: 'ok' });
  expect(
    await rig.rows('select turn_id, waiting, entry_seq::int from holdfast.sessions where id = $1', [sessionId]),
  ).toEqual([{ turn_id: turnId, waiting: 0, entry_seq: 1 }]);
  expect(await rig.rows('select status, turn_id from holdfast.inbox where id = $1', [messageId])).toEqual([
    { status: 'claimed', turn_id: turnId },
  ]);
  expect(await rig.rows('select kind, seq::int from holdfast.entries where turn_id = $1', [turnId])).toEqual([
    { kind: 'prompt', seq: 1 },
  ]);
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
  const modes = { mode: 'collect', byChannel: {} };
  const stop = {
    sessionId,
    keepsQueued: true,
    reason: 'a test',
    status: 'killed',
    result: null,
    isTold: false,
    modes,
  } as const;
  await stopFamily(rig.database, stop);
  expect(await rig.openTurn(newTurn(claimed, turnId))).toEqual({ kind: 'stopped' });
  expect(await counts(sessionId)).toMatchObject([{ turns: 0, entries: 0 }]);
});
