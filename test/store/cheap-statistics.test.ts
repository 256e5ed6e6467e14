// Goal: statistics cost the same however much there is. Method: a database with many rows of every kind, and the plans of the statements that
// read it, with the settings of the connections that run them: none reads a growing table as a whole.
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COUNT_SESSIONS, ROLL_UP, rollUp, countSessions } from '../../src/store/usage/roll-up.ts';
import type { Statement } from '../../src/store/statement.ts';
import { STATS } from '../../src/store/views/stats.ts';
import { USAGE } from '../../src/store/views/usage.ts';
import { createStoreRig, type StoreRig } from './store-rig.ts';

/** Tables that grow with messages and turns. */
const GROWING = [
  'sessions',
  'inbox',
  'turns',
  'entries',
  'model_calls',
  'tool_calls',
  'events',
  'deliveries',
  'system_events',
  'dead_letters',
];

const SESSIONS = 2_000;
const TURNS = 20_000;

let rig: StoreRig;
let views: PoolClient;

beforeAll(async () => {
  rig = await createStoreRig();
  for (const fill of FILLS) await rig.rows(fill);
  // Their ids are below every horizon.
  while (await rollUp(rig.database));
  while (await countSessions(rig.database));
  // The events of the last second.
  await rig.rows(eventsSql(TURNS + 1, TURNS + 50));
  await rig.rows('vacuum analyze');
  views = await rig.database.views.connect();
});
afterAll(async () => {
  views.release();
  await rig.drop();
});

const idSql = (kind: number, n: string) =>
  `('0190${kind}' || lpad(to_hex(${n}), 3, '0') || '-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const session = `(n % ${SESSIONS})`;

function eventsSql(from: number, to: number): string {
  return `insert into holdfast.events (id, session_id, turn_id, type, data)
    select 1000 + n * 4 + k, ${idSql(0, session)}, ${idSql(1, 'n')}, (array['message.accepted', 'model.ended', 'message.settled', 'turn.ended'])[k + 1],
      json_build_object('status', case k when 2 then 'answered' else 'completed' end, 'costMicros', 5, 'agentId', 'main', 'kind', 'message',
        'lane', 'main', 'model', 'anthropic/m')
    from generate_series(${from}, ${to}) as n, generate_series(0, 3) as k`;
}

const FILLS = [
  `insert into holdfast.sessions (id, key, agent_id, kind, lane) select ${idSql(0, 'n')}, 'agent:main:s' || n, 'main', 'main', 'main'
   from generate_series(0, ${SESSIONS - 1}) as n`,
  `insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, queued_at, claimed_at,
     ended_at)
   select ${idSql(1, 'n')}, ${idSql(0, session)}, 'message', 'main', case when n > ${TURNS - 20} then 'running' else 'completed' end, 1, 'w', 'm', 1, 's', 't',
     now(), now(), case when n <= ${TURNS - 20} then now() end from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.inbox (id, session_id, seq, kind, status, body, route, turn_id)
   select ${idSql(2, 'n')}, ${idSql(0, session)}, n, 'message', case when n > ${TURNS - 20} then 'claimed' when n <= 50 then 'waiting' else 'answered' end,
     '{}', '', case when n > 50 then ${idSql(1, 'n')} end from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.model_calls (turn_id, call_no, step, epoch, until_seq, status, started_at, ended_at)
   select ${idSql(1, 'n')}, 1, 1, 1, 1, 'ok', now(), now() from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, status, expires_at)
   select ${idSql(3, 'n')}, ${idSql(0, session)}, n, 'webhook', '{}', '{}', case when n <= 10 then 'pending' else 'sent' end, now()
   from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.system_events (id, session_id, text, state) select ${idSql(4, 'n')}, ${idSql(0, session)}, 'x',
     case when n <= 10 then 'queued' else 'consumed' end from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.dead_letters (id, kind, code, reason, state) select ${idSql(5, 'n')}, 'turn', 'c', 'r',
     case when n <= 10 then 'open' else 'discarded' end from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.doorbells (session_id, lane, rings) select ${idSql(0, 'n')}, 'main', 1 from generate_series(0, 49) as n`,
  eventsSql(1, TURNS),
];

test.each<[string, Statement<unknown[]>, unknown[]]>([
  ['GET /v1/stats and /metrics', STATS, []],
  ['GET /v1/usage', USAGE, ['hour', 'day', new Date(0), new Date(), 'model']],
  ['the roll-up', ROLL_UP, []],
  ['the count of sessions', COUNT_SESSIONS, []],
])('%s reads no growing table as a whole', async (_name, statement, values) => {
  const { text } = statement.prepared(values);
  await views.query('begin');
  const { rows } = await views.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`explain (format json) ${text}`, values);
  await views.query('rollback');
  const reads = rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => readsOf(Plan)));
  expect(reads.filter(({ table }) => GROWING.includes(table ?? '')).length).toBeGreaterThan(0);
  expect(reads.filter(({ node, table }) => node === 'Seq Scan' && GROWING.includes(table ?? ''))).toEqual([]);
});

test('the statistics of many rows are those of the rows', async () => {
  const [row] = (await views.query(STATS.prepared([]))).rows;
  expect(row.stats).toMatchObject({
    sessions: SESSIONS,
    messages: { waiting: 50, claimed: 20 },
    queueDepth: { main: 50 },
    systemEventsWaiting: 10,
    deadLetters: 10,
  });
});

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  Plans?: PlanNode[];
}

function readsOf(plan: PlanNode): { node: string; table: string | undefined }[] {
  const own = { node: plan['Node Type'], table: plan['Relation Name'] };
  return [own, ...(plan.Plans ?? []).flatMap(readsOf)];
}
