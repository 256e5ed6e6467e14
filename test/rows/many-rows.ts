// A database with many rows of every kind, and the plans of its queries, for tests that no query
// reads a whole growing table.
import type { PoolClient } from 'pg';
import { rollUp, countSessions } from '../../src/features/costs/store/roll-up.ts';
import { createStoreRig, type StoreRig } from '../store/store-rig.ts';

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
  'batch_items',
  'search_texts',
  'turn_scores',
];

/** A batch whose items are the messages. */
export const BATCH_ID = '01900000-0000-7000-8000-000000000000';
export const SESSIONS = 2_000;
const TURNS = 20_000;

/** A rig with them; its statistics are up to date except for the events of the last second. */
export async function createManyRows() {
  const rig = await createStoreRig();
  for (const fill of FILLS) await rig.rows(fill);
  // Their ids are below every horizon.
  while (await rollUp(rig.database));
  while (await countSessions(rig.database));
  // The events of the last second.
  await rig.rows(eventsSql(TURNS + 1, TURNS + 50));
  await rig.rows('vacuum analyze');
  return rig;
}

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
  `insert into holdfast.entries (session_id, seq, id, transcript_no, kind, role, content, turn_id)
   select ${idSql(0, session)}, n, ${idSql(6, 'n')}, 1, 'answer', 'assistant', '[]', ${idSql(1, 'n')} from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.search_texts (id, kind, session_id, turn_id, entry_seq, text, words)
   select ${idSql(6, 'n')}, case when n % 1000 = 0 then 'error' else 'reply' end, ${idSql(0, session)}, ${idSql(1, 'n')}, n, '', to_tsvector('simple', case when n <= 5100 then 'old word' else 'new word' end || n) from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.tool_calls (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch)
   select ${idSql(1, 'n')}, 1, 1, 'c', 'exec', true, 'done', 1 from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.turn_scores (id, session_id, turn_id, name, value, author, source) select ${idSql(7, 'n')}, ${idSql(0, session)}, ${idSql(1, 'n')},
     'thumb', to_jsonb(n % 100 > 0), 'a', 'api' from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, status, expires_at)
   select ${idSql(3, 'n')}, ${idSql(0, session)}, n, 'webhook', '{}', '{}', case when n <= 10 then 'pending' else 'sent' end, now()
   from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.system_events (id, session_id, text, state) select ${idSql(4, 'n')}, ${idSql(0, session)}, 'x',
     case when n <= 10 then 'queued' else 'consumed' end from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.dead_letters (id, kind, code, reason, state) select ${idSql(5, 'n')}, 'turn', 'c', 'r',
     case when n <= 10 then 'open' else 'discarded' end from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.batch_items (batch_id, n, session_key, is_own_session, is_ready, body, status, message_id)
   select '${BATCH_ID}', n, 'k', true, true, '{}', case when n <= 10 then 'fed' else 'answered' end, ${idSql(2, 'n')} from generate_series(1, ${TURNS}) as n`,
  `insert into holdfast.doorbells (session_id, lane, rings) select ${idSql(0, 'n')}, 'main', 1 from generate_series(0, 49) as n`,
  eventsSql(1, TURNS),
];

/** Gives every second row one of these statuses. */
export async function spreadStatuses(
  client: PoolClient,
  table: 'turns' | 'deliveries',
  statuses: readonly string[],
): Promise<void> {
  const n = 'ascii(right(id::text, 1))';
  const ended = table === 'turns' ? `ended_at = case when $1::text[] && '{running}' then null else now() end,` : '';
  await client.query(
    `update holdfast.${table} set ${ended} status = ($1::text[])[1 + ${n} / 2 % cardinality($1::text[])] where ${n} % 2 = 0`,
    [statuses],
  );
  await client.query(`analyze holdfast.${table}`);
}

/** How a statement reads the growing tables. */
export async function growingReads(client: PoolClient, text: string, values: unknown[]) {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`explain (format json) ${text}`, values);
  const reads = rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => readsOf(Plan)));
  return reads.filter(({ table }) => GROWING.includes(table ?? ''));
}

/** The statement with the plan that it has for every value. */
export async function prepareForAll(client: PoolClient, { text, values }: { text: string; values: unknown[] }) {
  await client.query(`set plan_cache_mode = force_generic_plan; deallocate all; prepare for_all as ${text}`);
  const literals = values.map((value) => {
    if (value === null) return 'null';
    // The text of a time in JSON is one that PostgreSQL reads.
    const word = typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', '');
    return client.escapeLiteral(Array.isArray(value) ? `{${value.join(',')}}` : word);
  });
  return { text: `execute for_all (${literals.join(', ')})`, values: [] };
}

/** Makes a scope of ten sessions whose keys begin so, as if it had been there before them. */
export async function giveScope(rig: StoreRig, prefix: string): Promise<void> {
  await rig.rows(`insert into holdfast.scopes (prefix) values ('${prefix}')`);
  await rig.rows(`update holdfast.sessions set scope = (select id from holdfast.scopes) where key ~ '^${prefix}.$'`);
  await copyScopes(rig);
}

/** Makes ten longer beginnings of it, of more than half of the sessions. The ids of their turns, newest first. */
export async function divideScope(rig: StoreRig, prefix: string): Promise<string[]> {
  await rig.rows(`insert into holdfast.scopes (prefix) select '${prefix}' || n from generate_series(0, 9) as n`);
  await rig.rows(`update holdfast.sessions s set scope = c.id from holdfast.scopes c
    where c.prefix = left(s.key, ${prefix.length + 1})`);
  await copyScopes(rig);
  const turns = await rig.rows('select id from holdfast.turns where scope is not null order by id desc');
  return turns.map(({ id }: { id: string }) => id);
}

async function copyScopes(rig: StoreRig): Promise<void> {
  for (const table of ['turns', 'inbox', 'deliveries', 'events', 'search_texts', 'turn_scores']) {
    await rig.rows(`update holdfast.${table} x set scope = s.scope from holdfast.sessions s
      where s.id = x.session_id and s.scope is not null`);
  }
  // Each is of the turn with its number.
  await rig.rows(`update holdfast.dead_letters x set scope = t.scope from holdfast.turns t
    where right(t.id::text, 12) = right(x.id::text, 12) and t.scope is not null`);
  await rig.rows('vacuum analyze');
}

export function countAllRows(client: PoolClient, table: string): Promise<number> {
  return countRowsRead(client, { text: `select from holdfast.${table}`, values: [] }, table);
}

/** How many rows of a table a statement reads when it runs. */
export async function countRowsRead(
  client: PoolClient,
  { text, values }: { text: string; values: unknown[] },
  table: string,
) {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
    `explain (analyze, format json) ${text}`,
    values,
  );
  const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
  const nodes = rows.flatMap((row) => row['QUERY PLAN'].flatMap(({ Plan }) => nodesOf(Plan)));
  return nodes
    .filter((node) => node['Relation Name'] === table && node['Node Type'].endsWith('Scan'))
    .reduce((sum, node) => {
      const { 'Actual Rows': kept = 0, 'Rows Removed by Filter': removed = 0, 'Actual Loops': loops = 0 } = node;
      return sum + (kept + removed) * loops;
    }, 0);
}

interface PlanNode {
  'Node Type': string;
  'Actual Rows'?: number;
  'Rows Removed by Filter'?: number;
  'Actual Loops'?: number;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

function readsOf(plan: PlanNode): { node: string; table: string | undefined; index: string | undefined }[] {
  // A bitmap of rows is made by the index scan below.
  const bitmap = plan['Node Type'] === 'Bitmap Heap Scan' ? plan.Plans?.find((node) => 'Index Name' in node) : null;
  const own = { node: plan['Node Type'], table: plan['Relation Name'], index: (bitmap ?? plan)['Index Name'] };
  return [own, ...(plan.Plans ?? []).flatMap(readsOf)];
}

/** Sessions with an open turn, whose keys begin with this name. */
export async function addManySessions(rig: StoreRig, name: string, count: number): Promise<void> {
  await rig.rows(
    `insert into holdfast.sessions (id, key, agent_id, kind, lane, turn_id)
     select gen_random_uuid(), 'agent:main:' || $1 || n, 'main', 'main', 'main', gen_random_uuid() from generate_series(1, $2) as n`,
    [name, count],
  );
}

/** Doorbells of some of these sessions. */
export async function addManyDoorbells(rig: StoreRig, name: string, count: number, dueIn: string): Promise<void> {
  await rig.rows(
    `insert into holdfast.doorbells (session_id, lane, rings, due_at)
     select id, lane, 1, now() + $3::interval from holdfast.sessions where key like 'agent:main:' || $1 || '%' limit $2`,
    [name, count, dueIn],
  );
  await rig.rows('analyze holdfast.doorbells, holdfast.sessions');
}
