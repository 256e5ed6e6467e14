import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionId, SystemEventId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import type { Acceptance, Taker } from '../../src/store/accept-messages.ts';
import { enqueueSystemEvent } from '../../src/store/system-events.ts';
import { createStoreRig, goodEnd, type Claimed, type StoreRig } from './store-rig.ts';

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

test('only the message that finds its session without work asks for a ring', async () => {
  const sessionId = await rig.session();
  const first = await rig.accept(rig.input(sessionId));
  const second = await rig.accept(rig.input(sessionId));
  expect(first).toMatchObject({ kind: 'accepted', ringNo: expect.any(Number) });
  expect(second).toMatchObject({ kind: 'accepted', ringNo: null });
});

test('an idempotency key in many simultaneous requests makes one message (G2)', async () => {
  const sessionId = await rig.session();
  const idempotency = { scope: 'messages', key: newId<string>(), sha256: 'same' };
  const results = await Promise.all(
    Array.from({ length: 20 }, () => rig.accept(rig.input(sessionId, { idempotency }))),
  );
  const accepted = results.filter((one) => one.kind === 'accepted');
  const [stored] = await rig.rows('select id from holdfast.inbox where session_id = $1', [sessionId]);
  expect(accepted).toHaveLength(1);
  expect(results.filter((one) => one.kind === 'duplicate')).toEqual(
    Array.from({ length: 19 }, () => ({ kind: 'duplicate', id: stored.id, by: 'idempotency' })),
  );
});

test('the same idempotency key with another body is refused and writes nothing (G2)', async () => {
  const sessionId = await rig.session();
  const idempotency = { scope: 'messages', key: newId<string>(), sha256: 'one' };
  await rig.accept(rig.input(sessionId, { idempotency }));
  const result = await rig.accept(rig.input(sessionId, { idempotency: { ...idempotency, sha256: 'two' } }));
  expect(result).toEqual({ kind: 'mismatch' });
  expect(await rig.rows('select 1 from holdfast.inbox where session_id = $1', [sessionId])).toHaveLength(1);
});

test('a platform message that is delivered again is a duplicate without a time limit (G2)', async () => {
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

test('a statement that is sent again after an unknown COMMIT stores nothing twice (G23)', async () => {
  const sessionId = await rig.session();
  const input = rig.input(sessionId);
  const first = await rig.accept(input);
  const again = await rig.accept(input);
  expect(again).toMatchObject({ kind: 'accepted', message: first.kind === 'accepted' ? first.message : null });
  expect(await rig.rows('select 1 from holdfast.inbox where session_id = $1', [sessionId])).toHaveLength(1);
});

test('over the bound of its inbox a session accepts nothing (G27)', async () => {
  const sessionId = await rig.session();
  const results = await Promise.all(
    Array.from({ length: 5 }, () => rig.accept(rig.input(sessionId, { waitingMax: 3 }))),
  );
  expect(results.map((one) => one.kind)).toEqual(['accepted', 'accepted', 'accepted', 'full', 'full']);
});

test('a message that arrives while the turn ends is never left without a ring (G4)', async () => {
  // Goal: whatever order the two statements take, either the end sees the message or the message rings.
  for (let round = 0; round < 40; round += 1) {
    const sessionId = await rig.session();
    await rig.accept(rig.input(sessionId));
    const { write } = await rig.opened(sessionId);
    const [ending, late] = await Promise.all([rig.finishTurn(goodEnd(write)), rig.accept(rig.input(sessionId))]);
    const isRung = ending.kind === 'ok' && ending.ring !== null;
    const rings = late.kind === 'accepted' && late.ringNo !== null;
    expect([isRung, rings].filter(Boolean)).toHaveLength(1);
  }
});

test('text that PostgreSQL calls text cannot hold stays in a body as it was', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId, { body: '{"text":"nul \\u0000 lone \\ud800","b":1,"a":2}' }));
  const [row] = await rig.rows('select body::text as body from holdfast.inbox where session_id = $1', [sessionId]);
  expect(row.body).toBe('{"text":"nul \\u0000 lone \\ud800","b":1,"a":2}');
});

describe('with an idle worker that can run it immediately', () => {
  const taker = (version = -1, seq = 0): Taker => ({ owner: 'worker-1', leaseMs: 60_000, known: { version, seq } });

  function takenOf(acceptance: Acceptance): Claimed | null {
    if (acceptance.kind !== 'accepted' || acceptance.taken === 'unknown') throw new Error('It was not accepted.');
    return acceptance.taken;
  }

  /** A session that has had a turn, and what a worker knows of it that has run that turn. */
  async function talked(): Promise<{ sessionId: SessionId; known: Taker['known'] }> {
    const sessionId = await rig.session();
    await rig.accept(rig.input(sessionId));
    const { write } = await rig.opened(sessionId);
    await rig.finishTurn(goodEnd(write));
    const [row] = await rig.rows('select transcript_version, entry_seq from holdfast.sessions where id = $1', [
      sessionId,
    ]);
    return { sessionId, known: { version: Number(row.transcript_version), seq: Number(row.entry_seq) } };
  }

  test('an idle session grants it the lock with the message, and the data of a claim', async () => {
    const sessionId = await rig.session();
    await enqueueSystemEvent(rig.database, {
      id: newId<SystemEventId>(),
      sessionId,
      text: 'It rains.',
      contextKey: null,
      isTrusted: true,
    });
    const input = rig.input(sessionId, { taker: taker() });
    const acceptance = await rig.accept(input);
    const taken = takenOf(acceptance);
    expect(acceptance).toMatchObject({ kind: 'accepted', ringNo: null, message: { status: 'waiting' } });
    // A worker may claim again what it holds: nothing has changed since but the epoch.
    const again = await rig.claimed(sessionId, 'worker-1');
    expect(taken).toEqual({ ...again, session: { ...again.session, epoch: again.session.epoch - 1 } });
    expect(taken?.inputs).toMatchObject([{ id: input.messageId, body: { text: 'hello' } }]);
    expect(taken?.events).toMatchObject([{ text: 'It rains.' }]);
  });

  test('no other worker can claim the session meanwhile, and its doorbell stays until the turn has ended (G7, G10)', async () => {
    const sessionId = await rig.session();
    await rig.accept(rig.input(sessionId, { taker: taker() }));
    expect(await rig.claim({ sessionId, owner: 'worker-2', leaseMs: 1000, known: { version: -1, seq: 0 } })).toEqual({
      kind: 'busy',
    });
    expect(await rig.rows('select 1 from holdfast.doorbells where session_id = $1', [sessionId])).toHaveLength(1);
  });

  test('a session whose transcript it knows to the end continues with it', async () => {
    const { sessionId, known } = await talked();
    const taken = takenOf(await rig.accept(rig.input(sessionId, { taker: { ...taker(), known } })));
    expect(taken).toMatchObject({ isWhole: false, entries: [], session: { entrySeq: known.seq } });
  });

  test('a session of which it knows nothing comes with its history', async () => {
    const { sessionId, known } = await talked();
    const taken = takenOf(await rig.accept(rig.input(sessionId, { taker: taker() })));
    const again = await rig.claimed(sessionId, 'worker-1');
    expect(taken).toEqual({ ...again, session: { ...again.session, epoch: again.session.epoch - 1 } });
    expect(taken).toMatchObject({ isWhole: true, session: { entrySeq: known.seq } });
    expect(taken?.entries).toHaveLength(known.seq);
  });

  test('a long history is left to a claim, which keeps no other message waiting', async () => {
    for (const size of ['entry_seq = 201', 'context_tokens = 50001']) {
      const { sessionId } = await talked();
      await rig.rows(`update holdfast.sessions set ${size} where id = $1`, [sessionId]);
      const acceptance = await rig.accept(rig.input(sessionId, { taker: taker() }));
      expect(takenOf(acceptance)).toBeNull();
      expect(acceptance).toMatchObject({ ringNo: expect.any(Number) });
    }
  });

  test('a session of which it knows a part is rung for', async () => {
    const { sessionId, known } = await talked();
    for (const own of [taker(known.version, known.seq - 1), taker(known.version + 1, known.seq)]) {
      const acceptance = await rig.accept(rig.input(sessionId, { taker: own }));
      expect(takenOf(acceptance)).toBeNull();
      expect(await rig.claimed(sessionId)).toMatchObject({ session: { entrySeq: known.seq } });
      await rig.rows('delete from holdfast.inbox where session_id = $1', [sessionId]);
      await rig.rows('delete from holdfast.doorbells where session_id = $1', [sessionId]);
      await rig.rows('update holdfast.sessions set waiting = 0, owner = null, lease_expires_at = null where id = $1', [
        sessionId,
      ]);
    }
  });

  test('a session that has other work, or that a worker holds, is left to the next claim', async () => {
    const waits = await rig.session();
    expect(await rig.accept(rig.input(waits))).toMatchObject({ ringNo: expect.any(Number) });
    expect(takenOf(await rig.accept(rig.input(waits, { taker: taker() })))).toBeNull();

    const held = await rig.session();
    await rig.accept(rig.input(held));
    await rig.opened(held, 'worker-2');
    expect(takenOf(await rig.accept(rig.input(held, { taker: taker() })))).toBeNull();

    const both = await rig.session();
    const [one, other] = await Promise.all([
      rig.accept(rig.input(both, { taker: taker() })),
      rig.accept(rig.input(both)),
    ]);
    expect([takenOf(one), takenOf(other)]).toEqual([null, null]);
    expect([one, other]).toMatchObject([{ ringNo: expect.any(Number) }, { ringNo: null }]);
  });

  test('an event that came while the statement waited for the session is not overlooked: it is rung for (G14)', async () => {
    const sessionId = await rig.session();
    const other = new pg.Client({ connectionString: rig.url });
    await other.connect();
    await other.query('begin');
    await other.query('update holdfast.sessions set updated_at = now() where id = $1', [sessionId]);
    const accepting = rig.accept(rig.input(sessionId, { taker: taker() }));
    await expect
      .poll(() => rig.rows("select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%accept%'"))
      .not.toEqual([]);
    await other.query('commit');
    await other.end();
    const acceptance = await accepting;
    expect(takenOf(acceptance)).toBeNull();
    expect(acceptance).toMatchObject({ ringNo: expect.any(Number) });
  });

  test('when the answer of the commit was lost, it is not known whether it was claimed (G23)', async () => {
    const sessionId = await rig.session();
    const input = rig.input(sessionId, { taker: taker() });
    await rig.accept(input);
    expect(await rig.accept(input)).toMatchObject({ kind: 'accepted', taken: 'unknown', ringNo: null });
  });
});
