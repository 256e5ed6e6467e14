// Retrying a turn while a worker holds its session: the rows that the worker has read must not change.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { retryTurn } from '../../src/store/retry-turn.ts';
import { createStoreRig, goodEnd, newTurn, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

/** A session whose only turn has failed, with the message of that turn. */
async function failedTurn() {
  const sessionId = await rig.session();
  const input = rig.input(sessionId);
  await rig.accept(input);
  const { write, turnId } = await rig.opened(sessionId);
  const error = { code: 'internal_error', message: 'It failed.' };
  await rig.finishTurn(goodEnd(write, { entries: [], status: 'failed', messageStatus: 'failed', reply: null, error }));
  return { sessionId, turnId, messageId: input.messageId };
}

test('the last turn of a session is undone: its own message waits again', async () => {
  const { turnId, messageId } = await failedTurn();
  expect(await retryTurn(rig.database, turnId)).toMatchObject({ kind: 'ok', messageIds: [messageId] });
});

test('a turn whose session is claimed for the next one is not undone: its message is sent again as a new one', async () => {
  const { sessionId, turnId, messageId } = await failedTurn();
  await rig.accept(rig.input(sessionId));
  const taken = await rig.claimed(sessionId, 'next');
  const retried = await retryTurn(rig.database, turnId);
  expect(retried).toMatchObject({ kind: 'ok', messageIds: [expect.any(String)] });
  expect(retried).not.toMatchObject({ messageIds: [messageId] });
  const next = newId<TurnId>();
  expect(await rig.openTurn(newTurn(taken, next))).toMatchObject({ kind: 'ok' });
  // The new turn continues the transcript on which its prompt was built.
  const entries = await rig.rows(
    `select e.turn_id, e.state, e.parent_seq is not null as has_parent from holdfast.entries e where e.session_id = $1 order by e.seq`,
    [sessionId],
  );
  expect(entries).toEqual([
    { turn_id: turnId, state: 'active', has_parent: false },
    { turn_id: next, state: 'active', has_parent: true },
  ]);
});
