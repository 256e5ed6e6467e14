// Retrying a turn while a worker holds its session: the rows that the worker has read must not
// change.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TurnId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { retryTurn } from '../../src/kernel/turn/journal/retry-turn.ts';
import { readEntries } from '../rows/entries.ts';
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
  expect(await readEntries(rig, { sessionId }, 'turnId', 'state', 'parentSeq')).toEqual([
    { turnId, state: 'active', parentSeq: null },
    { turnId: next, state: 'active', parentSeq: expect.any(Number) },
  ]);
});

test('of two retries at once, one finds nothing to do', async () => {
  const { turnId } = await failedTurn();
  const kinds = (await Promise.all([retryTurn(rig.database, turnId), retryTurn(rig.database, turnId)])).map(
    ({ kind }) => kind,
  );
  expect(kinds.toSorted()).toEqual(['conflict', 'ok']);
});

test('the body of a message that is sent again is the text that was stored', async () => {
  const { sessionId, turnId } = await failedTurn();
  await rig.accept(rig.input(sessionId));
  await rig.opened(sessionId);
  const body = '{"text": "\\u00e4", "tags": {}, "n": 1.0e2, "n": 2}';
  await rig.rows('update holdfast.inbox set body = $2::json where turn_id = $1', [turnId, body]);
  const retried = await retryTurn(rig.database, turnId);
  expect(retried.kind).toBe('ok');
  expect(
    await rig.rows('select body::text from holdfast.inbox where id = any ($1)', [
      'messageIds' in retried && retried.messageIds,
    ]),
  ).toEqual([{ body }]);
});
