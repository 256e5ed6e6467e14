// What an erasure deletes, as data: every table that holds something of sessions, and how its rows
// are found. test/store/erasure.test.ts compares it with the catalogue of the database, so a new
// table or column that refers to a session fails a test until it is here or in the list of what is
// kept. $1 is always the sessions.
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';

/** How many rows were removed, by table. */
export type RemovedRows = Record<string, number>;

/** Rows that one statement deletes at most; of turns, with everything that belongs to them. */
const ROWS_MAX = 2_000;
const TURNS_MAX = 100;
const EVENTS_MAX = 5_000;

interface ErasedRows {
  tables: readonly string[];
  erase: ReturnType<typeof eraseQuery>;
}

/**
 * What deletes a bounded number of rows, or those of these ids, in one statement; resolves with how
 * many of each table.
 */
export function eraseQuery(facts: { name: string; purpose: string; locking: string; text: string }) {
  return literalQuery({
    ...facts,
    pool: 'views',
    retryMs: LASTING_RETRY_MS,
    values: (ids: readonly string[]) => [ids],
    answer: ([row]: RemovedRows[]) => row ?? {},
  });
}

/** Rows that belong to turns. */
const OF_TURNS = [
  'model_calls',
  'tool_calls',
  'approvals',
  'mcp_tasks',
  'held_notices',
  'turn_attempts',
  'earlier_costs',
  'provider_requests',
];
const WITH_TURNS = [...OF_TURNS, 'turns'];

const turns: ErasedRows = {
  tables: WITH_TURNS,
  erase: eraseQuery({
    name: 'erase-turns',
    purpose: 'Delete some turns of sessions with everything that belongs to them.',
    locking: 'The turns, then the rows that belong to them.',
    text: `with erased as materialized (
  select t.id from holdfast.turns t where t.session_id = any ($1::uuid[]) limit ${TURNS_MAX} for update of t
),
${WITH_TURNS.map(
  (table) =>
    `deleted_${table} as (delete from holdfast.${table} r using erased where r.${table === 'turns' ? 'id' : 'turn_id'} = erased.id returning 1)`,
).join(',\n')}
select ${WITH_TURNS.map((table) => `(select count(*) from deleted_${table})::int as ${table}`).join(', ')}`,
  }),
};

function ofSessions(table: string, found = 'r.session_id = any ($1::uuid[])', rowsMax = ROWS_MAX): ErasedRows {
  return {
    tables: [table],
    erase: eraseQuery({
      name: `erase-${table.replaceAll('_', '-')}`,
      purpose: `Delete some of the rows of holdfast.${table} that belong to sessions.`,
      locking: 'The rows that it deletes.',
      text: `with deleted as (
  delete from holdfast.${table} where ctid = any (array(select r.ctid from holdfast.${table} r where ${found} limit ${rowsMax})) returning 1
)
select count(*)::int as ${table} from deleted`,
    }),
  };
}

export const eraseEvents = ofSessions('events', undefined, EVENTS_MAX);

/**
 * In this order: rows that are found through others are deleted before them. Reservations of
 * budgets and files of commands before their turns.
 */
export const ERASED_ROWS: readonly ErasedRows[] = [
  ofSessions(
    'process_inputs',
    'r.process_id in (select p.id from holdfast.processes p where p.session_id = any ($1::uuid[]))',
  ),
  ofSessions('client_sessions'),
  ofSessions('dead_letters'),
  ofSessions('deliveries'),
  ofSessions('pairings'),
  turns,
  ofSessions('canvases'),
  ofSessions('compactions'),
  ofSessions('entries'),
  ofSessions('ended_transcripts'),
  ofSessions('system_events'),
  ofSessions('yields'),
  ofSessions('doorbells'),
  ofSessions('heartbeat_states'),
  ofSessions(
    'heartbeats',
    'r.agent_id in (select s.agent_id from holdfast.sessions s where s.id = any ($1::uuid[])) and r.session_id = any ($1::uuid[])',
  ),
  ofSessions(
    'pauses',
    `r.session_key in (select substr(s.key, length('erasing:') + 1) from holdfast.sessions s where s.id = any ($1::uuid[]))`,
  ),
  ofSessions(
    'hidden_responses',
    'r.message_id in (select i.id from holdfast.inbox i where i.session_id = any ($1::uuid[]))',
  ),
  ofSessions(
    'charged_inputs',
    'r.message_id in (select i.id from holdfast.inbox i where i.session_id = any ($1::uuid[]))',
  ),
  // What was said in their chats and not for the agent.
  ofSessions(
    'channel_context',
    `(r.channel, r.account, r.chat_id) in (select i.body ->> 'channel', i.body ->> 'accountId', i.body ->> 'chatId'
      from holdfast.inbox i where i.session_id = any ($1::uuid[]))`,
  ),
  ofSessions('inbox'),
  eraseEvents,
];

/** Deleted by statements of their own, with what depends on them. */
export const ERASED_OTHERWISE: readonly string[] = [
  'sessions',
  'subagent_runs',
  'effects',
  'processes',
  'cost_reservations',
  'crons',
  'idempotency_keys',
  'snapshots',
  'search_texts',
  'channel_previews',
];

/** Tables whose rows are not found by a column `session_id`. */
const INDIRECT: ReadonlySet<string> = new Set([
  'process_inputs',
  'pauses',
  'hidden_responses',
  'charged_inputs',
  'channel_context',
]);
const COUNTED = ERASED_ROWS.filter((rows) => rows !== turns).flatMap(({ tables }) => tables);

export const countErased = literalQuery({
  name: 'count-erased',
  purpose: 'Count what an erasure of sessions would delete.',
  text: `select ${['sessions', 'turns', 'processes', ...COUNTED.filter((table) => !INDIRECT.has(table))]
    .map(
      (table) =>
        `(select count(*) from holdfast.${table} r where r.${table === 'sessions' ? 'id' : 'session_id'} = any ($1::uuid[]))::int as ${table}`,
    )
    .join(',\n  ')},
  ${OF_TURNS.map(
    (table) =>
      `(select count(*) from holdfast.turns t join holdfast.${table} r on r.turn_id = t.id where t.session_id = any ($1::uuid[]))::int as ${table}`,
  ).join(',\n  ')}`,
  pool: 'views',
  values: (ids: readonly string[]) => [ids],
  answer: ([row]: RemovedRows[]): RemovedRows =>
    Object.fromEntries(Object.entries(row ?? {}).filter(([, count]) => count > 0)),
});
