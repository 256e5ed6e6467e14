// Goal: the lists of a new key with a scope find everything that was stored before it, whatever
// runs meanwhile (G44). Method: rows of each kind from before, transactions that are open since
// before, and several processes, one of which stops in the middle.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DeliveryId, SessionId } from '../../../src/core/ids.ts';
import { newId } from '../../../src/ids.ts';
import { labelOlderRows } from '../../../src/features/keys/rounds.ts';
import { knowScopes } from '../../../src/features/keys/store/keys.ts';
import { labelSome } from '../../../src/features/keys/store/label-rows.ts';
import { ahead } from '../../rows/table.ts';
import { addApprovals } from '../../rows/approvals.ts';
import { addDeadLetters } from '../../rows/dead-letters.ts';
import { addDeliveries } from '../../rows/deliveries.ts';
import { addEvents } from '../../rows/events.ts';
import { addInputs } from '../../rows/inputs.ts';
import { addSessions } from '../../rows/sessions.ts';
import { addTurns, readTurns } from '../../rows/turns.ts';
import type { Store } from '../../rows/table.ts';
import { createStoreRig, goodEnd, type StoreRig } from '../../store/store-rig.ts';

let rig: StoreRig;
let lastEvent = 0;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

/** Rows that belong to a session. */
async function fill(store: Store, sessionId: string): Promise<void> {
  const turnId = newId<string>();
  await addTurns(store, { id: turnId, sessionId });
  await addInputs(store, { sessionId, seq: 1 });
  await addDeliveries(store, { sessionId });
  await addEvents(store, { id: (lastEvent += 1), sessionId, type: 'turn.ended', data: '{}' });
  await addDeadLetters(store, { sessionId });
  const call = {
    step: 1,
    ordinal: 1,
    callId: 'c',
    tool: 't',
    input: '{}',
    folder: '/',
    whatSha256: 's',
    reasons: '[]',
  };
  await addApprovals(store, { id: newId<string>(), sessionId, turnId, ...call, expiresAt: ahead('1 hour') });
}

async function aSession(key: string, store: Store = rig): Promise<SessionId> {
  const id = newId<SessionId>();
  await addSessions(store, { id, key: `agent:main:${key}` });
  return id;
}

/** The prefixes whose labels the session and its rows have. */
async function labelsOf(id: string): Promise<(string | null)[]> {
  const ofRows = ['turns', 'inbox', 'deliveries', 'events', 'approvals', 'dead_letters'].map(
    (table) => `select scope from holdfast.${table} where session_id = $1`,
  );
  const found = await rig.rows(
    `select distinct c.prefix from (select scope from holdfast.sessions where id = $1 union all ${ofRows.join(' union all ')}) as x
     left join holdfast.scopes c on c.id = x.scope`,
    [id],
  );
  return found.map(({ prefix }) => prefix as string | null);
}

const know = (...names: string[]) =>
  knowScopes(
    rig.database,
    names.map((name) => `agent:main:${name}`),
  );
const finish = () => labelOlderRows(rig.database, AbortSignal.timeout(30_000));

test('older sessions and what belongs to them get the longest prefix, and others get none', async () => {
  const [inner, outer, beside] = [await aSession('a:in:1'), await aSession('a:1'), await aSession('b:1')];
  for (const id of [inner, outer, beside]) await fill(rig, id);
  await know('a:in:');
  expect(await finish()).toBe(false);
  await know('a:');
  expect(await finish()).toBe(false);
  expect(await labelsOf(inner)).toEqual(['agent:main:a:in:']);
  expect(await labelsOf(outer)).toEqual(['agent:main:a:']);
  expect(await labelsOf(beside)).toEqual([null]);
  // A longer one that becomes known later takes its part of them.
  await know('a:in:1');
  expect(await finish()).toBe(false);
  expect(await labelsOf(inner)).toEqual(['agent:main:a:in:1']);
});

test('what a transaction inserts that began before is not missed', async () => {
  const early = await rig.database.hot.connect();
  const older = await aSession('open:1');
  try {
    await early.query('begin');
    const unseen = await aSession('open:2', early);
    await fill(early, unseen);
    await know('open:');
    // It waits for the transaction.
    expect(await labelOlderRows(rig.database, AbortSignal.timeout(200))).toBe(true);
    expect(await labelsOf(older)).toEqual([null]);
    await early.query('commit');
    while ((await rig.rows(`select from holdfast.scopes where step = 'sessions'`)).length > 0)
      await labelSome(rig.database);

    // Rows whose session had no label yet when they were inserted.
    await early.query('begin');
    await early.query(`set local session_replication_role = 'replica'`);
    await fill(early, older);
    expect(await labelOlderRows(rig.database, AbortSignal.timeout(200))).toBe(true);
    await early.query('commit');
    expect(await finish()).toBe(false);
    expect(await labelsOf(unseen)).toEqual(['agent:main:open:']);
    expect(await labelsOf(older)).toEqual(['agent:main:open:']);
  } finally {
    early.release(true);
  }
});

test('several processes do it together, and one that stops in the middle loses nothing', async () => {
  const sessions = Array.from({ length: 700 }, (_, n) => ({ id: newId<string>(), key: `agent:main:many:${n}` }));
  for (const session of sessions) await addSessions(rig, session);
  await fill(rig, sessions[699]!.id);
  for (let n = 0; n < 700; n += 1)
    await addEvents(rig, { id: (lastEvent += 1), sessionId: sessions[0]!.id, type: 'turn.ended', data: '{}' });
  await know('many:');
  await labelOlderRows(rig.database, AbortSignal.timeout(30_000), { portionsMax: 3 });
  expect(await Promise.all([finish(), finish(), finish()])).toEqual([false, false, false]);
  const [left] = await rig.rows(
    `select count(*) filter (where s.scope is null)::int as sessions, count(*) filter (where e.id is not null and e.scope is null)::int as events
     from holdfast.sessions s left join holdfast.events e on e.session_id = s.id where s.key like 'agent:main:many:%'`,
  );
  expect(left).toEqual({ sessions: 0, events: 0 });
  expect(await labelsOf(sessions[699]!.id)).toEqual(['agent:main:many:']);
});

test('the statements of a turn write the scope that their session has under its lock, without triggers', async () => {
  const sessionId = await aSession('turn:1');
  await know('turn:');
  const portion = await rig.database.views.connect();
  await setTriggers('disable');
  try {
    await portion.query('begin');
    await portion.query(
      `update holdfast.sessions set scope = (select id from holdfast.scopes where prefix = 'agent:main:turn:') where id = $1`,
      [sessionId],
    );
    // Its snapshot has the session without the label.
    const accepted = rig.accept(rig.input(sessionId));
    const waiting = () =>
      rig.rows(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
    await expect.poll(waiting, { interval: 5 }).toHaveLength(1);
    await portion.query('commit');
    await accepted;
    const { write, turnId } = await rig.opened(sessionId);
    const events = [{ type: 'turn.started' as const, data: {} }];
    const reply = { id: newId<DeliveryId>(), channel: 'webhook', target: {}, payload: {}, expiresMs: 60_000 };
    await rig.finishTurn(goodEnd({ ...write, events }, { deliveries: [reply] }));
    expect(await labelsOf(sessionId)).toEqual(['agent:main:turn:']);
    expect(await readTurns(rig, { id: turnId }, 'status')).toEqual([{ status: 'completed' }]);
  } finally {
    portion.release(true);
    await setTriggers('enable');
  }
});

/** Those of the tables that these statements write. */
async function setTriggers(verb: 'disable' | 'enable'): Promise<void> {
  for (const table of ['turns', 'inbox', 'deliveries', 'events'])
    await rig.rows(`alter table holdfast.${table} ${verb} trigger ${table}_scope`);
}
