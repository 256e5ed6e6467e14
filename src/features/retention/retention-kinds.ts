// The kinds of rows that are deleted by age, each with the setting that says when, and the
// statement that deletes some of them.
import { literalQuery, viewQuery } from '../../database/literal-query.ts';
import { chunkByIdSql, CUTOFF_SQL, retentionPass } from './retention-sql.ts';

/** The rows that one statement reads, for tables whose rows are independent. */
const ROWS_MAX = 1_000;
/** The transcripts that one statement reads, and the entries that it deletes. */
const TRANSCRIPTS_MAX = 50;
const ENTRIES_MAX = 2_000;

/**
 * A table whose ids grow with time and whose rows are independent: those are deleted that ended
 * before the cutoff and are free.
 */
function simplePass<const Kind extends string>({
  table,
  isFreeSql,
  endedSql = 'r.settled_at',
  more = '',
  ...facts
}: Pick<Parameters<typeof retentionPass<Kind>>[0], 'name' | 'purpose' | 'kind' | 'setting'> & {
  table: string;
  /** The condition on the row `r` under which no other row needs it. */
  isFreeSql: string;
  endedSql?: string;
  more?: string;
}) {
  return retentionPass({
    ...facts,
    locking: 'the rows, skipping those that are locked.',
    chunk: chunkByIdSql(table),
    size: ROWS_MAX,
    deletes: `gone as materialized (
  select r.id from holdfast.${table} r
  where r.id = any (array(select id from chunk)) and ${endedSql} < ${CUTOFF_SQL} and ${isFreeSql}
  for update of r skip locked
),
${more}deleted as (delete from holdfast.${table} r where r.id = any (array(select id from gone)))`,
  });
}

/**
 * Turns that one statement deletes at most: with their calls, it takes some tens of milliseconds.
 */
const TURNS_MAX = 500;

/**
 * The tables whose rows belong to a turn and are deleted with it; earlier costs go by their foreign
 * key.
 */
export const TABLES_OF_TURNS = [
  'model_calls',
  'tool_calls',
  'approvals',
  'held_notices',
  'mcp_tasks',
  'turn_attempts',
  'provider_requests',
  'scores',
  'turn_scores',
];

// Rows that still need an ended turn: waiting decisions, unsettled work, and parents that wait for
// children.
const NEEDED_SQL = `exists (select from holdfast.sessions s where s.id = t.session_id and s.turn_id = t.id)
    or exists (select from holdfast.cost_reservations c where c.turn_id = t.id)
    or exists (select from holdfast.provider_requests p where p.turn_id = t.id and p.status in ('queued', 'assigned'))
    or exists (select from holdfast.compactions c where c.turn_id = t.id and c.status = 'running')
    or exists (select from holdfast.dead_letters l where l.turn_id = t.id and l.state = 'open')
    or exists (select from holdfast.yields y where y.session_id = t.session_id and y.turn_id = t.id)
    or exists (select from holdfast.processes p where p.session_id = t.session_id and p.turn_id = t.id and p.status = 'running')
    or exists (select from holdfast.deliveries d where d.session_id = t.session_id and d.turn_id = t.id and d.status in ('pending', 'sending'))
    or exists (select from holdfast.inbox i where i.turn_id = t.id and (i.status in ('delayed', 'waiting', 'claimed')
      or i.id in (select b.message_id from fed_items b)
      or exists (select from holdfast.cron_fires f where f.message_id = i.id and f.status = 'claimed')
      or exists (select from holdfast.heartbeats h where h.message_id = i.id and h.result is null)))`;

// Conversations stay: the entries are not touched, and a message keeps the reply or the error that
// it had from its turn. Sums stay: a turn goes only when the roll-ups have counted its end, and
// sessions, runs and batches have sums of their own.
export const deleteOldTurns = retentionPass({
  kind: 'turns',
  setting: 'turns',
  name: 'delete-old-turns',
  purpose: 'Delete turns that ended long ago, with their calls and attempts; their messages keep the reply.',
  locking: 'the turns, skipping those that are locked, their messages and their calls.',
  chunk: chunkByIdSql('turns'),
  size: TURNS_MAX,
  deletes: `fed_items as materialized (
  select i.message_id from holdfast.batches b join holdfast.batch_items i on i.batch_id = b.id where b.status <> 'ended' and i.status = 'fed'
),
rolled_up as materialized (
  select coalesce((select e.created_at from holdfast.events e where e.id > c.after_id order by e.id limit 1), clock_timestamp()) as up_to
  from holdfast.roll_up_cursor c where c.singleton and c.counted_at is not null
),
gone as materialized (
  select t.id, t.reply, t.error from holdfast.turns t
  where t.id = any (array(select id from chunk)) and t.ended_at < ${CUTOFF_SQL} and t.ended_at < (select up_to from rolled_up)
    and not (${NEEDED_SQL})
  for update of t skip locked
),
kept_replies as (
  update holdfast.inbox i set reply = case when i.status = 'answered' then coalesce(i.reply, gone.reply) else i.reply end,
    error = case when i.status in ('failed', 'cancelled') then coalesce(i.error, gone.error) else i.error end
  from gone where i.turn_id = gone.id and i.turn_id = any (array(select id from gone))
    and (i.status = 'answered' and i.reply is null and gone.reply is not null
      or i.status in ('failed', 'cancelled') and i.error is null and gone.error is not null)
),
${TABLES_OF_TURNS.map((table) => `deleted_${table} as (delete from holdfast.${table} part where part.turn_id = any (array(select id from gone)))`).join(',\n')},
deleted_turns as (delete from holdfast.turns t where t.id = any (array(select id from gone)))`,
});

const isTurnOpenSql = (id: string): string =>
  `exists (select from holdfast.turns t where t.id = ${id} and t.ended_at is null)`;

export const deleteOldSystemEvents = simplePass({
  kind: 'systemEvents',
  setting: 'turns',
  table: 'system_events',
  name: 'delete-old-system-events',
  purpose: 'Delete system events that a prompt has shown, or that were dropped, long ago.',
  isFreeSql: `r.state <> 'queued' and not ${isTurnOpenSql('r.turn_id')}`,
});

export const deleteOldProcesses = simplePass({
  kind: 'processes',
  setting: 'turns',
  table: 'processes',
  name: 'delete-old-processes',
  purpose: 'Delete background commands that ended long ago.',
  isFreeSql: `r.status <> 'running' and not ${isTurnOpenSql('r.turn_id')}`,
  endedSql: 'r.ended_at',
});

export const deleteOldDeliveries = simplePass({
  kind: 'deliveries',
  setting: 'deliveries',
  table: 'deliveries',
  name: 'delete-old-deliveries',
  purpose:
    'Delete deliveries that were sent or given up long ago. One with an unknown outcome or an open dead letter stays.',
  isFreeSql: `r.status in ('sent', 'failed', 'expired', 'discarded') and not ${isTurnOpenSql('r.turn_id')}
    and not exists (select from holdfast.dead_letters l where l.delivery_id = r.id and l.state = 'open')`,
});

export const deleteOldDeadLetters = simplePass({
  kind: 'deadLetters',
  setting: 'deadLetters',
  table: 'dead_letters',
  name: 'delete-old-dead-letters',
  purpose: 'Delete dead letters that were decided long ago.',
  isFreeSql: `r.state <> 'open'`,
});

// The newest message of a session says where its heartbeats go and how long it has been silent. A
// key that is replayed needs its message, so a message with a key goes after the key. The results
// of a batch are read from the messages of its items.
export const deleteOldMessages = simplePass({
  kind: 'messages',
  setting: 'messages',
  table: 'inbox',
  name: 'delete-old-messages',
  purpose: 'Delete messages that were settled long ago and that nothing needs any more.',
  isFreeSql: `r.status in ('answered', 'silent', 'failed', 'cancelled', 'dropped')
    and not (r.status = 'dropped' and r.is_summarized and r.turn_id is null)
    and (r.answer is null or r.settled_at < (select k.completed_to from holdfast.retention k where k.kind = 'idempotencyKeys'))
    and not ${isTurnOpenSql('r.turn_id')}
    and (r.kind not in ('message', 'batch') or exists (
      select from holdfast.inbox later where later.session_id = r.session_id and later.seq > r.seq and later.kind = 'message'))
    and not exists (select from holdfast.yields y where y.session_id = r.session_id and y.turn_id = r.turn_id)
    and not exists (select from holdfast.charged_inputs c where c.message_id = r.id and c.batch_id is not null and not c.is_counted)
    and not exists (select from holdfast.cron_fires f where f.message_id = r.id and f.status = 'claimed')
    and not exists (select from holdfast.heartbeats h where h.message_id = r.id and h.result is null)
    and not (r.kind = 'batch' and exists (select from holdfast.batches b where b.id::text = split_part(r.cause_key, ':', 2)))`,
  more: ['hidden_responses', 'charged_inputs']
    .map(
      (table) =>
        `deleted_${table} as (delete from holdfast.${table} part where part.message_id = any (array(select id from gone))),\n`,
    )
    .join(''),
});

// Keys and ended transcripts have no ids that grow with time, so their passes walk along an index
// on a time. The chunk has only rows that are deleted, and rows of the same microsecond as the
// place are read again: none is left out. The first two elements of the place are the beginning of
// the walk for versions before migration 0047, which walked along the primary key.
const PLACE_TIME_SQL = `coalesce((nullif((select walk.position from walk), '')::json ->> 2)::timestamptz, '-infinity')`;

export const deleteOldKeys = retentionPass({
  kind: 'idempotencyKeys',
  setting: 'idempotencyKeys',
  name: 'delete-old-idempotency-keys',
  purpose: 'Delete keys of requests that were made long ago and whose message is settled.',
  locking: 'the keys.',
  chunk: `select k.scope, k.key, k.created_at from holdfast.idempotency_keys k
  where k.created_at >= ${PLACE_TIME_SQL} and k.created_at < ${CUTOFF_SQL}
    and not exists (select from holdfast.inbox i where i.id = k.resource_id and i.settled_at is null)
  order by k.created_at`,
  size: ROWS_MAX,
  place: `json_build_array('', '', c.created_at)::text`,
  order: 'c.created_at desc',
  // It waits for locked keys: messages rely on all keys before `completed_to` being deleted.
  deletes: `gone as materialized (
  select k.scope, k.key from chunk join holdfast.idempotency_keys k on k.scope = chunk.scope and k.key = chunk.key
  for update of k
),
deleted as (delete from holdfast.idempotency_keys k using gone where k.scope = gone.scope and k.key = gone.key)`,
});

export const deleteOldTranscripts = retentionPass({
  kind: 'transcripts',
  setting: 'transcripts',
  name: 'delete-old-transcripts',
  purpose:
    'Delete transcripts that a reset ended long ago, with their entries and compactions. The current transcript of a session stays.',
  locking: 'the ended transcripts, skipping those that are locked, then their entries.',
  chunk: `select e.session_id, e.transcript_no, e.ended_at from holdfast.ended_transcripts e
  join holdfast.sessions s on s.id = e.session_id
  where e.ended_at >= ${PLACE_TIME_SQL} and e.ended_at < ${CUTOFF_SQL} and e.transcript_no < s.transcript_no and not exists (
    select from holdfast.compactions c where c.session_id = e.session_id and c.transcript_no = e.transcript_no and c.status = 'running')
  order by e.ended_at`,
  size: TRANSCRIPTS_MAX,
  isPassedSql: `(select count(*) from gone) < ${ENTRIES_MAX}`,
  place: `json_build_array('00000000-0000-0000-0000-000000000000', 0, c.ended_at)::text`,
  order: 'c.ended_at desc',
  deletes: `due as materialized (
  select e.session_id, e.transcript_no, e.last_seq from chunk
  join holdfast.ended_transcripts e on e.session_id = chunk.session_id and e.transcript_no = chunk.transcript_no
  for update of e skip locked
),
gone as materialized (
  select found.session_id, found.seq from due cross join lateral (
    select e.session_id, e.seq from holdfast.entries e
    where e.session_id = due.session_id and e.seq <= due.last_seq and e.transcript_no = due.transcript_no
  ) as found limit ${ENTRIES_MAX}
),
deleted_entries as (delete from holdfast.entries e using gone where e.session_id = gone.session_id and e.seq = gone.seq),
finished as (select due.* from due where (select count(*) from gone) < ${ENTRIES_MAX}),
deleted_compactions as (
  delete from holdfast.compactions c using finished f where c.session_id = f.session_id and c.transcript_no = f.transcript_no
),
deleted_transcripts as (
  delete from holdfast.ended_transcripts e using finished f where e.session_id = f.session_id and e.transcript_no = f.transcript_no
)`,
});

/** The kinds in the order in which they are worked off: a key goes before its message. */
export const RETENTION_KINDS = [
  deleteOldTurns,
  deleteOldSystemEvents,
  deleteOldProcesses,
  deleteOldKeys,
  deleteOldMessages,
  deleteOldTranscripts,
  deleteOldDeliveries,
  deleteOldDeadLetters,
] as const;

export const beginRetention = literalQuery({
  name: 'begin-retention',
  purpose: 'Make the rows of the passes that there are none of yet.',
  locking: 'The rows.',
  pool: 'views',
  values: () => [RETENTION_KINDS.map(({ kind }) => kind)],
  text: 'insert into holdfast.retention (kind) select unnest($1::text[]) on conflict do nothing',
});

export interface RetentionLag extends Pick<(typeof RETENTION_KINDS)[number], 'kind' | 'setting'> {
  /** The milliseconds by which the deletion of rows may be late. */
  lagMs: number;
}

/** Reads the lag of the kinds that have been deleted at any time. */
export const readRetentionLag = viewQuery({
  name: 'retention-lag',
  purpose: 'Read for each kind of old rows how long ago the next pass should have been complete.',
  text: `select r.kind, greatest(extract(epoch from clock_timestamp() - coalesce(r.completed_to + r.keep_ms * interval '1 millisecond', r.created_at)) * 1000, 0)::float8 as "lagMs"
from holdfast.retention r`,
  answer: (rows: { kind: string; lagMs: number }[]) =>
    RETENTION_KINDS.flatMap(({ kind, setting }): RetentionLag[] => {
      const row = rows.find((each) => each.kind === kind);
      return row === undefined ? [] : [{ kind, setting, lagMs: row.lagMs }];
    }),
});
