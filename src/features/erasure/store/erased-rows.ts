// What an erasure deletes, as data: every table that holds something of sessions, and how its rows
// are found. test/features/retention/tables.test.ts compares it with the catalogue of the database,
// so a new table or column that refers to a session fails a test until it is here or in the list of
// what is kept. $1 is always the sessions.
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';
import { TABLES_OF_TURNS } from '../../retention/retention-kinds.ts';

/** How many rows were removed, by table. */
export type RemovedRows = Record<string, number>;

/** Rows that one statement deletes at most; of turns, with everything that belongs to them. */
const ROWS_MAX = 2_000;
const TURNS_MAX = 100;

/** A statement that deletes some rows of these tables. */
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

const OF_TURNS = [...TABLES_OF_TURNS, 'earlier_costs'];
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

function rowsOf(table: string, found = 'r.session_id = any ($1::uuid[])'): ErasedRows {
  return {
    tables: [table],
    erase: eraseQuery({
      name: `erase-${table.replaceAll('_', '-')}`,
      purpose: `Delete some of the rows of holdfast.${table} that belong to sessions.`,
      locking: 'The rows that it deletes.',
      text: `with deleted as (
  delete from holdfast.${table} where ctid = any (array(select r.ctid from holdfast.${table} r where ${found} limit ${ROWS_MAX})) returning 1
)
select count(*)::int as ${table} from deleted`,
    }),
  };
}

export const eraseEvents = rowsOf('events');

const OF_INPUTS = 'r.message_id in (select i.id from holdfast.inbox i where i.session_id = any ($1::uuid[]))';

/** Tables whose rows `r` are found through others, which are deleted after them. */
const FOUND_THROUGH_OTHERS = {
  process_inputs: 'r.process_id in (select p.id from holdfast.processes p where p.session_id = any ($1::uuid[]))',
  pauses: `r.session_key in (select substr(s.key, length('erasing:') + 1) from holdfast.sessions s where s.id = any ($1::uuid[]))`,
  hidden_responses: OF_INPUTS,
  charged_inputs: OF_INPUTS,
  // What was said in their chats and not for the agent.
  channel_context: `(r.channel, r.account, r.chat_id) in (select i.body ->> 'channel', i.body ->> 'accountId', i.body ->> 'chatId'
      from holdfast.inbox i where i.session_id = any ($1::uuid[]))`,
};

const BY_SESSION = [
  'client_sessions',
  'dead_letters',
  'deliveries',
  'pairings',
  'canvases',
  'compactions',
  'entries',
  'ended_transcripts',
  'system_events',
  'yields',
  'doorbells',
  'heartbeat_states',
  'inbox',
];

// An index leads to polls from their agent.
const heartbeats = rowsOf(
  'heartbeats',
  'r.agent_id in (select s.agent_id from holdfast.sessions s where s.id = any ($1::uuid[])) and r.session_id = any ($1::uuid[])',
);

/**
 * In this order. Reservations of budgets and files of commands go before; the sessions with what
 * connects them, after.
 */
export const ERASED_ROWS: readonly ErasedRows[] = [
  ...Object.entries(FOUND_THROUGH_OTHERS).map(([table, found]) => rowsOf(table, found)),
  turns,
  heartbeats,
  ...BY_SESSION.map((table) => rowsOf(table)),
  eraseEvents,
];

const countSql = (table: string, found: string): string =>
  `(select count(*) from ${found} = any ($1::uuid[]))::int as ${table}`;

export const countErased = literalQuery({
  name: 'count-erased',
  purpose: 'Count what an erasure of sessions would delete.',
  text: `select ${[
    countSql('sessions', 'holdfast.sessions r where r.id'),
    ...['turns', 'processes', 'heartbeats', ...BY_SESSION, 'events'].map((table) =>
      countSql(table, `holdfast.${table} r where r.session_id`),
    ),
    ...OF_TURNS.map((table) =>
      countSql(table, `holdfast.turns t join holdfast.${table} r on r.turn_id = t.id where t.session_id`),
    ),
  ].join(',\n  ')}`,
  pool: 'views',
  values: (ids: readonly string[]) => [ids],
  answer: ([row]: RemovedRows[]): RemovedRows =>
    Object.fromEntries(Object.entries(row ?? {}).filter(([, count]) => count > 0)),
});
