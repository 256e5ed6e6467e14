// `finish-turn`: the end of a turn settles its messages, releases the lock and decides whether
// another ring is needed.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliveryId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { readDeliveries } from '../rows/deliveries.ts';
import { readDoorbells } from '../rows/doorbells.ts';
import { countEntries } from '../rows/entries.ts';
import { countEvents } from '../rows/events.ts';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

async function running() {
  const sessionId = await rig.session();
  const input = rig.input(sessionId);
  await rig.accept(input);
  return { sessionId, messageId: input.messageId, ...(await rig.opened(sessionId)) };
}

const doorbellsOf = (sessionId: string) => readDoorbells(rig, { sessionId }, 'rings');

test('an end settles the messages, releases the session and removes its doorbell', async () => {
  const { sessionId, messageId, turnId, write } = await running();
  expect(await rig.finishTurn(goodEnd(write))).toMatchObject({ kind: 'ok', after: { rings: [] } });
  expect(await readInputs(rig, { id: messageId }, 'status')).toEqual([{ status: 'answered' }]);
  expect(await readTurns(rig, { id: turnId }, 'status', 'reply')).toEqual([{ status: 'completed', reply: 'reply' }]);
  expect(await readSessions(rig, { id: sessionId }, 'owner', 'turnId')).toEqual([{ owner: null, turnId: null }]);
  expect(await doorbellsOf(sessionId)).toEqual([]);
});

test('a message that arrived during the turn keeps the doorbell and gets the next ring (G4)', async () => {
  const { sessionId, write } = await running();
  await rig.accept(rig.input(sessionId));
  const [before] = await doorbellsOf(sessionId);
  const end = await rig.finishTurn(goodEnd(write));
  expect(end).toMatchObject({
    kind: 'ok',
    after: { rings: [{ kind: 'followup', sessionId, lane: 'main', ringNo: before!.rings + 1 }] },
  });
  expect(await doorbellsOf(sessionId)).toEqual([{ rings: before!.rings + 1 }]);
});

test('an end that is sent again is stored once, with one event (G23)', async () => {
  const { sessionId, turnId, write } = await running();
  const end = goodEnd(write);
  expect(await rig.finishTurn(end)).toMatchObject({ kind: 'ok' });
  const stored = async () => ({
    entries: await countEntries(rig, { turnId }),
    ended: await countEvents(rig, { sessionId, type: 'turn.ended' }),
  });
  expect(await stored()).toEqual({ entries: 2, ended: 1 });
  expect(await rig.finishTurn(end)).toMatchObject({ kind: 'ok' });
  expect(await stored()).toEqual({ entries: 2, ended: 1 });
});

test('replies go to the outbox in order, with one ring, and a failed end leaves a dead letter', async () => {
  const { turnId, write } = await running();
  const delivery = () => ({ id: newId<DeliveryId>(), channel: 'webhook', target: {}, payload: {}, expiresMs: 60_000 });
  const deliveries = [delivery(), delivery()];
  const deadLetter = { id: newId<string>(), code: 'a_code', reason: 'a reason' };
  const end = await rig.finishTurn(
    goodEnd(write, { deliveries, deadLetter, status: 'failed', messageStatus: 'failed' }),
  );
  expect(end).toMatchObject({ kind: 'ok', after: { rings: [{ kind: 'deliver', ringNo: expect.any(Number) }] } });
  expect(await readDeliveries(rig, { turnId }, 'id', 'seq')).toEqual([
    { id: deliveries[0]?.id, seq: 1 },
    { id: deliveries[1]?.id, seq: 2 },
  ]);
  expect(await readDeadLetters(rig, { turnId }, 'code', 'reason')).toEqual([{ code: 'a_code', reason: 'a reason' }]);
});

test('a turn that gives its inputs back leaves them waiting in their order, once, if its end is sent twice (G1, G3, G23)', async () => {
  const sessionId = await rig.session();
  for (let n = 1; n <= 3; n += 1) await rig.accept(rig.input(sessionId));
  const { write } = await rig.opened(sessionId);
  const end = goodEnd(write, {
    entries: [],
    status: 'aborted',
    messageStatus: 'cancelled',
    reply: null,
    error: { code: 'split', message: 'Too long together.' },
    hides: 'refused',
    hidesFromSeq: 1,
    collectMax: 2,
  });
  expect(await rig.finishTurn(end)).toMatchObject({ kind: 'ok' });
  expect(await rig.finishTurn(end)).toMatchObject({ kind: 'ok' });
  const next = await rig.claimed(sessionId, 'next');
  expect(next.session).toMatchObject({ waiting: 3, collectMax: 2 });
  expect(next.inputs.map(({ seq }) => seq)).toEqual([1, 2, 3]);
});
