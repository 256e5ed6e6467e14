import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { countInputs, readInputs } from '../rows/inputs.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

test('messages of one session get their numbers in the order of their arrival (G3)', async () => {
  const sessionId = await rig.session();
  const accepted = await Promise.all(Array.from({ length: 50 }, () => rig.accept(rig.input(sessionId))));
  expect(accepted.map((one) => (one.kind === 'accepted' ? one.message.seq : null))).toEqual(
    Array.from({ length: 50 }, (_, index) => index + 1),
  );
});

test('only the message that finds its session without work requests a ring', async () => {
  const sessionId = await rig.session();
  const first = await rig.accept(rig.input(sessionId));
  const second = await rig.accept(rig.input(sessionId));
  expect(first).toMatchObject({
    kind: 'accepted',
    after: { changed: [sessionId], rings: [{ kind: 'inbound', sessionId }] },
  });
  expect(second).toMatchObject({ kind: 'accepted', after: { changed: [sessionId], rings: [] } });
});

test('an idempotency key in many simultaneous requests makes one message (G2)', async () => {
  const sessionId = await rig.session();
  const idempotency = { scope: 'messages', key: newId<string>(), sha256: 'same' };
  const results = await Promise.all(
    Array.from({ length: 20 }, () => rig.accept(rig.input(sessionId, { idempotency }))),
  );
  const accepted = results.filter((one) => one.kind === 'accepted');
  const [stored] = await readInputs(rig, { sessionId }, 'id');
  expect(accepted).toHaveLength(1);
  expect(results.filter((one) => one.kind === 'duplicate')).toEqual(
    Array.from({ length: 19 }, () => ({ kind: 'duplicate', id: stored!.id, by: 'idempotency' })),
  );
});

test('the same idempotency key with another body is refused and writes nothing (G2)', async () => {
  const sessionId = await rig.session();
  const idempotency = { scope: 'messages', key: newId<string>(), sha256: 'one' };
  await rig.accept(rig.input(sessionId, { idempotency }));
  const result = await rig.accept(rig.input(sessionId, { idempotency: { ...idempotency, sha256: 'two' } }));
  expect(result).toEqual({ kind: 'mismatch' });
  expect(await countInputs(rig, { sessionId })).toBe(1);
});

test('a platform message that is received again is a duplicate without a time limit (G2)', async () => {
  const sessionId = await rig.session();
  const platformKey = newId<string>();
  const first = rig.input(sessionId, { platformKey });
  await rig.accept(first);
  expect(await rig.accept(rig.input(sessionId, { platformKey }))).toEqual({
    kind: 'duplicate',
    id: first.messageId,
    by: 'platform',
  });
});

test('a statement that is sent again after a COMMIT with an unknown outcome stores nothing twice (G23)', async () => {
  const sessionId = await rig.session();
  const input = rig.input(sessionId);
  const first = await rig.accept(input);
  const again = await rig.accept(input);
  expect(again).toMatchObject({ kind: 'accepted', message: first.kind === 'accepted' ? first.message : null });
  expect(await countInputs(rig, { sessionId })).toBe(1);
});

test('a session whose inbox is full accepts nothing (G27)', async () => {
  const sessionId = await rig.session();
  const results = await Promise.all(
    Array.from({ length: 5 }, () => rig.accept(rig.input(sessionId, { waitingMax: 3 }))),
  );
  expect(results.map((one) => one.kind)).toEqual(['accepted', 'accepted', 'accepted', 'full', 'full']);
});

test('a message that arrives while the turn ends is never left without a ring (G4)', async () => {
  // Goal: in whatever order the two statements run, either the end sees the message or the message
  // rings.
  for (let round = 0; round < 40; round += 1) {
    const sessionId = await rig.session();
    await rig.accept(rig.input(sessionId));
    const { write } = await rig.opened(sessionId);
    const [ending, late] = await Promise.all([rig.finishTurn(goodEnd(write)), rig.accept(rig.input(sessionId))]);
    const isRung = ending.kind === 'ok' && ending.after.rings.length === 1;
    const rings = late.after?.rings.length === 1;
    expect([isRung, rings].filter(Boolean)).toHaveLength(1);
  }
});

test('text that a PostgreSQL text column cannot hold is stored unchanged in a body', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId, { body: '{"text":"nul \\u0000 lone \\ud800","b":1,"a":2}' }));
  const [row] = await readInputs(rig, { sessionId }, 'bodyText');
  expect(row?.bodyText).toBe('{"text":"nul \\u0000 lone \\ud800","b":1,"a":2}');
});

test('a message that is sent again because the answer of its commit was lost is stored once, and reported as accepted (G1, G23)', async () => {
  const sessionId = await rig.session();
  const input = rig.input(sessionId);
  await rig.accept(input);
  expect(await rig.accept(input)).toMatchObject({
    kind: 'accepted',
    message: { id: input.messageId, seq: 1 },
    after: { rings: [] },
  });
  expect(await readInputs(rig, { sessionId }, 'id')).toHaveLength(1);
});
