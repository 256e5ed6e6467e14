// Parking: an open turn releases its lock, stores why it waits, and is claimed again when it is due
// or stopped.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { abortSession, abortTurn } from '../../src/kernel/effects/control.ts';
import type { TurnPark } from '../../src/kernel/turn/journal/park-turn.ts';
import { viewStats } from '../../src/features/overview/views/stats.ts';
import { wake } from '../../src/kernel/queue/wake-parked.ts';
import { changeDoorbells, countDoorbells, readDoorbells, removeDoorbells } from '../rows/doorbells.ts';
import { readEvents } from '../rows/events.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
import { atMost, now } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

const away = { code: 'model_away', text: 'The model does not answer.', by: 'anthropic' };

async function openedTurn(): Promise<{ sessionId: SessionId; park: TurnPark; turnId: string }> {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { write, turnId } = await rig.opened(sessionId);
  return { sessionId, turnId, park: { ...write, reason: away, delayMs: 60_000, notBeforeMs: 0, heldSeq: 0, parks: 1 } };
}

const claim = (sessionId: SessionId) =>
  rig.claim({ sessionId, owner: 'next', leaseMs: 60_000, known: { version: -1, seq: 0 } });

async function dueAt(sessionId: SessionId): Promise<Date> {
  const [row] = await readDoorbells(rig, { sessionId }, 'dueAt');
  return (row as { dueAt: Date }).dueAt;
}

async function turnOf(turnId: string): Promise<Record<string, unknown>> {
  const [row] = await readTurns(rig, { id: turnId });
  return row as Record<string, unknown>;
}

describe('a parked turn', () => {
  test('holds no lock, keeps its reason, and is not claimed before its time (G33)', async () => {
    const { sessionId, turnId, park } = await openedTurn();
    expect(await rig.parkTurn(park)).toMatchObject({ kind: 'parked', after: { changed: [sessionId], rings: [] } });
    const [bell] = await readDoorbells(rig, { sessionId }, 'dueAt', 'rungAt');
    expect(Math.round((Number(bell?.dueAt) - Number(bell?.rungAt)) / 1000)).toBe(60);
    const [session] = await readSessions(rig, { id: sessionId }, 'owner', 'leaseExpiresAt', 'turnId');
    expect(session).toEqual({ owner: null, leaseExpiresAt: null, turnId: turnId });
    expect(await turnOf(turnId)).toMatchObject({
      status: 'parked',
      parkCode: 'model_away',
      parkBy: 'anthropic',
      parks: 1,
    });
    expect(await claim(sessionId)).toEqual({ kind: 'early', after: { changed: [], rings: [] } });
  });

  test('is parked once when its statement is sent again after an unknown COMMIT (G23)', async () => {
    const { sessionId, park } = await openedTurn();
    const events = [{ type: 'turn.parked' as const, data: { ...away } }];
    expect(await rig.parkTurn({ ...park, events })).toMatchObject({ kind: 'parked' });
    expect(await rig.parkTurn({ ...park, events })).toMatchObject({ kind: 'parked' });
    const parkedEvents = await readEvents(rig, { sessionId, type: 'turn.parked' }, 'type');
    expect(parkedEvents).toHaveLength(1);
  });

  test('is not parked by a worker that has lost the session (G7)', async () => {
    const { turnId, park } = await openedTurn();
    const fence = { ...park.fence, epoch: park.fence.epoch - 1 };
    expect(await rig.parkTurn({ ...park, fence })).toEqual({ kind: 'fenced' });
    expect(await turnOf(turnId)).toMatchObject({ status: 'running', parkCode: null });
  });

  test('is due immediately when it was stopped before it was parked (G24)', async () => {
    const { sessionId, park } = await openedTurn();
    await changeSessions(rig, { id: sessionId }, { stopReason: 'stopped by the user' });
    expect(await rig.parkTurn(park)).toMatchObject({
      kind: 'parked',
      after: { rings: [{ kind: 'inbound', sessionId }] },
    });
    expect(await claim(sessionId)).toMatchObject({
      kind: 'claimed',
      session: { stop: { kind: 'stopped', message: 'stopped by the user' } },
    });
  });

  test('is due immediately when it is aborted (G24)', async () => {
    const { sessionId, park, turnId } = await openedTurn();
    await rig.parkTurn(park);
    const [{ key } = { key: '' }] = (await readSessions(rig, { id: sessionId }, 'key')) as {
      key: string;
    }[];
    expect(await abortSession(rig, { sessionKey: key, keepQueued: true })).toMatchObject({
      aborted: turnId,
      after: { rings: [{ sessionId }] },
    });
    expect(await claim(sessionId)).toMatchObject({ kind: 'claimed' });
  });

  test.each(['interrupt', 'rollback'] as const)(
    'is due immediately when a message of mode %s arrives (G24)',
    async (mode) => {
      const { sessionId, park } = await openedTurn();
      await rig.parkTurn(park);
      const queue = { mode: 'collect', cap: 20, drop: 'wait' } as const;
      const accepted = await rig.accept(rig.input(sessionId, { mode, queue }));
      expect(accepted).toMatchObject({ kind: 'accepted', disposition: 'interrupting' });
      expect(accepted).toMatchObject({ after: { rings: [{ sessionId }] } });
      expect(await claim(sessionId)).toMatchObject({ kind: 'claimed' });
    },
  );

  test.each(['park', 'release'] as const)('gets a doorbell with a %s when it has none', async (way) => {
    const { sessionId, park } = await openedTurn();
    await removeDoorbells(rig, { sessionId });
    if (way === 'park') await rig.parkTurn(park);
    else expect(await rig.release({ sessionId, epoch: park.fence.epoch })).toMatchObject({ after: { rings: [{}] } });
    const due = await dueAt(sessionId);
    expect(due.getTime() > Date.now() + 30_000).toBe(way === 'park');
  });

  test('keeps waiting when an ordinary message arrives', async () => {
    const { sessionId, park } = await openedTurn();
    await rig.parkTurn(park);
    await rig.accept(rig.input(sessionId, { mode: 'collect' }));
    expect(await claim(sessionId)).toEqual({ kind: 'early', after: { changed: [], rings: [] } });
  });

  test('gives the next worker the reason of its wait, until the model has answered', async () => {
    const { sessionId, park, turnId } = await openedTurn();
    await rig.parkTurn({ ...park, delayMs: 0 });
    const again = await claim(sessionId);
    expect(again).toMatchObject({ kind: 'claimed', openTurn: { park: { code: 'model_away', parks: 1 } } });
    const epoch = again.kind === 'claimed' ? again.session.epoch : 0;
    const fence = { ...park.fence, epoch };
    await rig.commitStep({ ...park, fence, progress: { ...park.progress, calls: 2 } });
    expect(await turnOf(turnId)).toMatchObject({ status: 'running', parkCode: 'model_away' });
    await rig.commitStep({ ...park, fence, progress: { ...park.progress, calls: 2, steps: 1 } });
    expect(await turnOf(turnId)).toMatchObject({ parkCode: null });
  });
});

describe('a turn that is parked until an event', () => {
  async function parkedTurn(more: Partial<TurnPark> = {}) {
    const opened = await openedTurn();
    const outcome = await rig.parkTurn({ ...opened.park, delayMs: null, ...more });
    const [{ key } = { key: '' }] = (await readSessions(rig, { id: opened.sessionId }, 'key')) as { key: string }[];
    return { ...opened, outcome, key };
  }

  const dueDoorbells = (sessionId: SessionId) => countDoorbells(rig, { sessionId, dueAt: atMost(now) });

  const depth = async (): Promise<number> => {
    const { queueDepth } = await viewStats(rig.database.views);
    return queueDepth['main'] ?? 0;
  };

  test('holds no lock, has no doorbell, and no job claims it', async () => {
    const { sessionId, turnId, outcome } = await parkedTurn();
    expect(outcome).toMatchObject({ kind: 'parked', after: { changed: [sessionId], rings: [] } });
    expect(await countDoorbells(rig, { sessionId })).toBe(0);
    expect(await turnOf(turnId)).toMatchObject({ status: 'parked', attempt: 1 });
    expect(await readSessions(rig, { id: sessionId }, 'owner')).toEqual([{ owner: null }]);
    expect(await claim(sessionId)).toEqual({ kind: 'idle' });
  });

  test('is parked once when its statement is sent again after an unknown COMMIT (G23)', async () => {
    const { sessionId, park } = await openedTurn();
    const events = [{ type: 'turn.parked' as const, data: { ...away } }];
    for (let sending = 1; sending <= 2; sending += 1) {
      expect(await rig.parkTurn({ ...park, delayMs: null, events })).toMatchObject({ kind: 'parked' });
    }

    expect(await readEvents(rig, { sessionId, type: 'turn.parked' }, 'type')).toHaveLength(1);
  });

  test('is not counted in the depth of the queue', async () => {
    const before = await depth();
    await parkedTurn();
    await parkedTurn({ delayMs: 60_000 });
    expect(await depth()).toBe(before);
  });

  test('is due immediately when it was stopped before it was parked (G24)', async () => {
    const { sessionId, park } = await openedTurn();
    await changeSessions(rig, { id: sessionId }, { stopReason: 'stopped by the user' });
    expect(await rig.parkTurn({ ...park, delayMs: null })).toMatchObject({ after: { rings: [{ sessionId }] } });
    expect(await dueDoorbells(sessionId)).toBe(1);
  });

  test('is due immediately when its session is aborted, and when the turn is (G24)', async () => {
    const first = await parkedTurn();
    const abortion = await abortSession(rig, { sessionKey: first.key, keepQueued: true });
    expect(abortion).toMatchObject({ aborted: first.turnId, after: { rings: [{ sessionId: first.sessionId }] } });
    const second = await parkedTurn();
    const stopped = await abortTurn(rig.database, { turnId: second.turnId });
    expect(stopped).toMatchObject({ kind: 'stopped', after: { rings: [{ sessionId: second.sessionId }] } });
    for (const { sessionId } of [first, second]) {
      expect(await dueDoorbells(sessionId)).toBe(1);
      expect(await claim(sessionId)).toMatchObject({ kind: 'claimed', openTurn: { attempt: 1 } });
    }
  });

  test.each(['collect', 'steer', 'interrupt', 'rollback'] as const)(
    'is claimed when a message of mode %s arrives, and no attempt is counted',
    async (mode) => {
      const { sessionId } = await parkedTurn();
      const queue = { mode: 'collect', cap: 20, drop: 'wait' } as const;
      const accepted = await rig.accept(rig.input(sessionId, { mode, queue }));
      expect(accepted).toMatchObject({ kind: 'accepted', after: { rings: [{ sessionId }] } });
      expect(await claim(sessionId)).toMatchObject({ kind: 'claimed', openTurn: { attempt: 1 } });
    },
  );

  test('counts an attempt when the worker that claimed it has crashed', async () => {
    const { sessionId } = await parkedTurn();
    await rig.accept(rig.input(sessionId));
    await claim(sessionId);
    await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
    const known = { version: -1, seq: 0 };
    const third = await rig.claim({ sessionId, owner: 'third', leaseMs: 60_000, known });
    expect(third).toMatchObject({ kind: 'claimed', openTurn: { attempt: 2 } });
  });
});

describe('when the provider answers again, parked turns', () => {
  test('become due one after the other, the longest wait first, and none before the time that the provider asked for', async () => {
    const early = await openedTurn();
    const late = await openedTurn();
    const held = await openedTurn();
    const other = await openedTurn();
    const by = 'woken-provider';
    for (const { park } of [early, late]) await rig.parkTurn({ ...park, reason: { ...away, by } });
    await rig.parkTurn({ ...held.park, reason: { ...away, by }, notBeforeMs: 50_000 });
    await rig.parkTurn(other.park);
    const before = await Promise.all([held, other].map(({ sessionId }) => dueAt(sessionId)));
    await wake(rig.database, { code: 'model_away', by });
    const [first, second, third, untouched] = await Promise.all(
      [early, late, held, other].map(({ sessionId }) => dueAt(sessionId)),
    );
    expect(first?.getTime()).toBeLessThan(second?.getTime() ?? 0);
    expect(second?.getTime()).toBeLessThan((third?.getTime() ?? 0) - 30_000);
    expect(third?.getTime()).toBeLessThan(before[0]?.getTime() ?? 0);
    expect(untouched).toEqual(before[1]);
  });

  test('also become due when the statement that wakes them was ended by a deadlock', async () => {
    const by = 'contended-provider';
    const first = await openedTurn();
    const second = await openedTurn();
    for (const { park } of [first, second]) await rig.parkTurn({ ...park, reason: { ...away, by } });

    const client = await rig.database.views.connect();
    await client.query('begin');
    await client.query(`set local deadlock_timeout = '10min'`);
    await changeDoorbells(client, { sessionId: second.sessionId }, { rungAt: now });
    const woken = wake(rig.database, { code: 'model_away', by });
    const isWaiting = async (): Promise<unknown> =>
      (
        await rig.rows(
          `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '/* wake */%' and pid <> pg_backend_pid()`,
        )
      )[0]?.['n'];
    await expect.poll(isWaiting, { interval: 5 }).toBe(1);
    // Each now waits for the other; only the waking statement looks for deadlocks.
    await changeDoorbells(client, { sessionId: first.sessionId }, { rungAt: now });
    await client.query('commit');
    client.release();
    await woken;
    const due = await Promise.all([first, second].map(({ sessionId }) => dueAt(sessionId)));
    for (const at of due) expect(at.getTime()).toBeLessThan(Date.now() + 30_000);
  });
});
