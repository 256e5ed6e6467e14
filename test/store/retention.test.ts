// Which old rows are deleted, and which stay: real rows in each state are aged by SQL, a pass runs, and the tables are read.
import { expect, test } from 'vitest';
import { RETENTION_LATE_MS, retentionFinding } from '../../src/cli/doctor/database-checks.ts';
import { beginRetention, RETENTION_KINDS } from '../../src/store/retention/retention-kinds.ts';
import { TABLES_DELETED_ELSEWHERE, TABLES_KEPT } from '../../src/store/retention/kept-tables.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

const DAY_MS = 86_400_000;
const KEEP_MS = 90 * DAY_MS;
const NOW_MS = Date.now();

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

/** Runs passes of a kind until one is complete, and returns how many rows it deleted. */
async function pass(kind: string, keepMs = KEEP_MS): Promise<number> {
  await beginRetention(rig.database);
  const found = RETENTION_KINDS.find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`There is no kind ${kind}.`);
  await rig.database.views.query('update holdfast.retention set completed_at = null where kind = $1', [kind]);
  for (let n = 0; n < 100; n += 1) {
    const step = await found(rig.database, keepMs);
    if (step === null) throw new Error('Another process holds the pass.');
    if (!step.hasMore) return step.deletedInPass;
  }
  throw new Error('The pass has no end.');
}

const idOf = (days: number, n: number): string => {
  const hex = (NOW_MS - days * DAY_MS).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
};
let made = 0;

/** An ended turn with one message, one call, one tool call and one attempt. */
async function oldTurn({ days = 100, isOpen = false, status = 'answered' } = {}) {
  const sessionId = await rig.session();
  made += 1;
  const id = idOf(days, made);
  const messageId = idOf(days, made + 100_000);
  const ended = isOpen ? null : new Date(NOW_MS - days * DAY_MS);
  await rig.database.views.query(
    `insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, reply, queued_at, claimed_at, ended_at)
     values ($1, $2, 'message', 'main', $3, 1, 'w', 'm', 1, 's', 't', 'the reply', now(), now(), $4)`,
    [id, sessionId, isOpen ? 'running' : 'completed', ended],
  );
  await rig.database.views.query(
    `insert into holdfast.inbox (id, session_id, seq, kind, status, body, route, turn_id, settled_at, received_at)
     values ($1, $2, 1, 'message', $3, '{"text":"hello"}', 'r', $4, $5, coalesce($5, now()))`,
    [messageId, sessionId, isOpen ? 'claimed' : status, id, ended],
  );
  await rig.database.views.query(
    `insert into holdfast.model_calls (turn_id, call_no, step, epoch, until_seq, status, started_at, ended_at) values ($1, 1, 1, 1, 1, 'ok', now(), now())`,
    [id],
  );
  await rig.database.views.query(
    `insert into holdfast.tool_calls (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch) values ($1, 1, 1, 'c', 'read', true, 'done', 1)`,
    [id],
  );
  await rig.database.views.query(
    `insert into holdfast.entries (session_id, seq, id, transcript_no, kind, role, content, turn_id) values ($1, 1, $2, 1, 'prompt', 'user', '[]', $3)`,
    [sessionId, idOf(days, made + 200_000), id],
  );
  return { id, sessionId, messageId };
}

const ids = async (table: string, column = 'id'): Promise<unknown[]> =>
  (await rig.rows(`select ${column} as id from holdfast.${table}`)).map((row) => row['id']);

test('a turn that ended long ago is deleted with its calls; its message keeps the reply, and its entries stay', async () => {
  const old = await oldTurn();
  const young = await oldTurn({ days: 10 });
  expect(await pass('turns')).toBe(1);
  expect(await ids('turns')).toEqual([young.id]);
  expect(await ids('model_calls', 'turn_id')).toEqual([young.id]);
  expect(await ids('tool_calls', 'turn_id')).toEqual([young.id]);
  expect(await rig.rows('select reply from holdfast.inbox where id = $1', [old.messageId])).toEqual([
    { reply: 'the reply' },
  ]);
  expect(await rig.rows('select 1 from holdfast.entries where session_id = $1', [old.sessionId])).toHaveLength(1);
});

// The ways in which open work can need an ended turn, one statement each.
test.each([
  ['that is open (G3)', { isOpen: true }, null],
  ['that its session has claimed', {}, 'update holdfast.sessions set turn_id = $1 where id = $2'],
  [
    'with an open dead letter',
    {},
    `insert into holdfast.dead_letters (id, kind, session_id, turn_id, code, reason) values (gen_random_uuid(), 'turn', $2, $1, 'c', 'r')`,
  ],
  [
    'with a delivery that is not sent',
    {},
    `insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at) values (gen_random_uuid(), $2, $1, 1, 'webhook', '{}', '{}', now())`,
  ],
  [
    'that waits for its children',
    {},
    `insert into holdfast.yields (session_id, turn_id, epoch, seconds, due_at) values ($2, $1, 1, 1, now())`,
  ],
  [
    'with a reservation',
    {},
    `insert into holdfast.cost_reservations (turn_id, call_no, budget_id, starts_at, session_id, epoch, micros) values ($1, 1, gen_random_uuid(), now(), $2, 1, 1)`,
  ],
  [
    'with a request in a batch of the provider',
    {},
    `insert into holdfast.provider_requests (turn_id, call_no, session_id, model, params_bytes, params_sha256, leave_at) values ($1, 1, $2, 'm', 1, 's', now())`,
  ],
  [
    'with a compaction that runs',
    {},
    `insert into holdfast.compactions (id, session_id, transcript_no, turn_id, reason, attempt, tokens_before) values (gen_random_uuid(), $2, 1, $1, 'manual', 1, 1)`,
  ],
  [
    'with a command in the background',
    {},
    `insert into holdfast.processes (id, session_id, turn_id, cause_key, command, workdir, worker, lease_expires_at, machine) values (gen_random_uuid(), $2, $1, 'k', 'c', '/', 'w', now(), 'm')`,
  ],
  [
    'whose message waits again',
    {},
    `update holdfast.inbox set status = 'waiting' where turn_id = $1 and session_id = $2`,
  ],
  [
    'whose end the roll-ups have not counted',
    {},
    `with one as (insert into holdfast.events (id, session_id, turn_id, type, data, created_at) values (9000000000000000000, $2, $1, 'turn.ended', '{}', now() - interval '200 days'))
     select 1`,
  ],
])('a turn %s stays', async (_name, how, sql) => {
  const turn = await oldTurn(how);
  if (sql !== null) {
    const values = sql.includes('$1') && sql.includes('$2') ? [turn.id, turn.sessionId] : [turn.id];
    await rig.database.views.query(sql, values);
  }
  await pass('turns');
  expect(await rig.rows('select 1 from holdfast.turns where id = $1', [turn.id])).toHaveLength(1);
  await rig.database.views.query(`delete from holdfast.events where id = 9000000000000000000`);
});

test('messages are deleted only when nothing of their session needs them', async () => {
  const only = await oldTurn();
  const first = await oldTurn();
  await rig.database.views.query(
    `insert into holdfast.inbox (id, session_id, seq, kind, status, body, route) values ($1, $2, 2, 'message', 'waiting', '{}', 'r')`,
    [idOf(1, 900_000), first.sessionId],
  );
  const keyed = await oldTurn();
  await rig.database.views.query(
    `insert into holdfast.inbox (id, session_id, seq, kind, status, body, route) values ($1, $2, 2, 'message', 'waiting', '{}', 'r')`,
    [idOf(1, 900_001), keyed.sessionId],
  );
  await rig.database.views.query(`update holdfast.inbox set answer = '{}' where id = $1`, [keyed.messageId]);
  await rig.database.views.query(
    `insert into holdfast.idempotency_keys (scope, key, request_sha256, resource_id, created_at) values ('s', 'k', 'x', $1, now() - interval '100 days')`,
    [keyed.messageId],
  );
  const left = async (id: string): Promise<number> =>
    (await rig.rows('select 1 from holdfast.inbox where id = $1', [id])).length;
  await pass('messages');
  expect([await left(only.messageId), await left(first.messageId), await left(keyed.messageId)]).toEqual([1, 0, 1]);
  // The key is deleted first, then its message (G2).
  expect(await pass('idempotencyKeys')).toBe(1);
  await pass('messages');
  expect(await left(keyed.messageId)).toBe(0);
});

test('a transcript that a reset ended is deleted in parts, and the current one stays', async () => {
  const { sessionId } = await oldTurn();
  await rig.database.views.query('update holdfast.sessions set transcript_no = 2 where id = $1', [sessionId]);
  await rig.database.views.query(
    `insert into holdfast.entries (session_id, seq, id, transcript_no, kind, role, content, turn_id)
     select $1, n, gen_random_uuid(), case when n <= 4500 then 1 else 2 end, 'answer', 'assistant', '[]', gen_random_uuid() from generate_series(2, 4510) n`,
    [sessionId],
  );
  await rig.database.views.query(
    `insert into holdfast.ended_transcripts (session_id, transcript_no, last_seq, ended_at) values ($1, 1, 4500, now() - interval '100 days')`,
    [sessionId],
  );
  expect(await pass('transcripts')).toBe(4500);
  expect(await rig.rows('select count(*)::int as n from holdfast.entries where session_id = $1', [sessionId])).toEqual([
    { n: 10 },
  ]);
  expect(await rig.rows('select 1 from holdfast.ended_transcripts where session_id = $1', [sessionId])).toEqual([]);
});

test('keys of one moment are all deleted, also by a pass that a version from before migration 0047 began', async () => {
  await rig.rows(
    `insert into holdfast.idempotency_keys (scope, key, request_sha256, created_at)
     select 'moment', n::text, 'x', now() - interval '100 days' from generate_series(1, 2500) as n`,
  );
  await beginRetention(rig.database);
  await rig.rows(
    `update holdfast.retention set position = '["moment","7"]', cutoff_at = now() - interval '90 days' where kind = 'idempotencyKeys'`,
  );
  await pass('idempotencyKeys');
  expect(await rig.rows(`select key from holdfast.idempotency_keys where scope = 'moment'`)).toEqual([]);
});

test('deliveries, dead letters, system events and commands that have ended long ago are deleted, and open ones stay', async () => {
  const { sessionId } = await oldTurn();
  const statuses = ['sent', 'failed', 'unknown', 'pending'];
  for (const [n, status] of statuses.entries()) {
    await rig.database.views.query(
      `insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, status, expires_at, settled_at)
       values ($1, $2, $3, 'webhook', '{}', '{}', $4, now(), case when $4 <> 'pending' then now() - interval '100 days' end)`,
      [idOf(100, 700_000 + n), sessionId, 10 + n, status],
    );
  }
  for (const [n, state] of ['open', 'discarded'].entries()) {
    await rig.database.views.query(
      `insert into holdfast.dead_letters (id, kind, session_id, delivery_id, code, reason, state, settled_at)
       values ($1, 'delivery', $2, $3, 'c', 'r', $4, case when $4 <> 'open' then now() - interval '100 days' end)`,
      [idOf(100, 710_000 + n), sessionId, n === 0 ? idOf(100, 700_001) : null, state],
    );
    await rig.database.views.query(
      `insert into holdfast.system_events (id, session_id, text, state, settled_at) values ($1, $2, 't', $3, now() - interval '100 days')`,
      [idOf(100, 720_000 + n), sessionId, ['queued', 'consumed'][n]],
    );
  }
  for (const kind of ['deliveries', 'deadLetters', 'systemEvents', 'processes']) await pass(kind);
  const of = (table: string): Promise<unknown[]> =>
    rig.rows(`select * from holdfast.${table} where session_id = $1 order by id`, [sessionId]);
  expect((await of('deliveries')).map((row) => (row as { status: string }).status)).toEqual([
    'failed',
    'unknown',
    'pending',
  ]);
  expect((await of('dead_letters')).map((row) => (row as { state: string }).state)).toEqual(['open']);
  expect((await of('system_events')).map((row) => (row as { state: string }).state)).toEqual(['queued']);
});

test('one process deletes at a time, and an interrupted pass is continued', async () => {
  await oldTurn();
  await pass('turns');
  await rig.database.views.query(
    `update holdfast.retention set completed_at = null, position = $1, cutoff_at = now() - interval '90 days' where kind = 'turns'`,
    [idOf(95, 0)],
  );
  const before = await oldTurn({ days: 99 });
  const after = await oldTurn({ days: 93 });
  const other = await rig.database.views.connect();
  const turns = RETENTION_KINDS[0];
  try {
    await other.query('begin');
    await other.query(`select from holdfast.retention where kind = 'turns' for update`);
    expect(await turns(rig.database, KEEP_MS)).toBeNull();
  } finally {
    await other.query('rollback');
    other.release();
  }
  await turns(rig.database, KEEP_MS);
  const left = await rig.rows('select id from holdfast.turns where id = any ($1::uuid[])', [[before.id, after.id]]);
  expect(left).toEqual([{ id: before.id }]);
  await pass('turns');
  expect(await rig.rows('select id from holdfast.turns where id = $1', [before.id])).toEqual([]);
});

/** The tables whose rows the passes delete. */
const TABLES_OF_PASSES = RETENTION_KINDS.flatMap((deleteSome) =>
  [...deleteSome.render(new Set()).text.matchAll(/delete from holdfast\.(\w+)/g)].map(([, name = '']) => name),
);

test('every table either has a deletion rule or a reason to be kept', async () => {
  const tables = await rig.rows(`select tablename as name from pg_tables where schemaname = 'holdfast'`);
  const decided = [TABLES_DELETED_ELSEWHERE, TABLES_KEPT].flatMap((each) => Object.values(each).flat());
  expect([...decided, ...TABLES_OF_PASSES].toSorted()).toEqual(tables.map((row) => String(row['name'])).toSorted());
});

test('no foreign key prevents a pass from deleting its rows', async () => {
  const keys = await rig.rows(
    `select c.confrelid::regclass::text as target from pg_constraint c where c.contype = 'f' and c.confdeltype <> 'c' and c.connamespace = 'holdfast'::regnamespace`,
  );
  const deleted = TABLES_OF_PASSES.map((name) => `holdfast.${name}`);
  expect(keys.map((row) => row['target']).filter((name) => deleted.includes(String(name)))).toEqual([]);
});

test('the doctor names the kinds whose deletion is late, and none that is not configured', async () => {
  const config = { retention: { turns: KEEP_MS } };
  await pass('turns');
  await pass('deliveries');
  expect(await retentionFinding(rig.url, config)).toMatchObject({ status: 'ok' });
  // As if no scheduler had run for two days.
  await rig.rows(`update holdfast.retention set completed_to = completed_to - interval '2 days'`);
  expect(await retentionFinding(rig.url, config)).toMatchObject({
    status: 'warning',
    reason: expect.stringContaining(`turns by ${(2 * RETENTION_LATE_MS) / 3_600_000} h`),
  });
  const { reason } = await retentionFinding(rig.url, config);
  expect(reason).not.toContain('deliveries');
});
