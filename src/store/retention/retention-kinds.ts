// The kinds of rows that are deleted by age, each with the setting that says when, and the statement that deletes some of them.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal, type Statement } from '../statement.ts';
import { DELETE_OLD_TURNS } from './delete-turns.ts';
import { CUTOFF_SQL, passStatement, WALK_END_SQL, WALK_ID_SQL } from './retention-sql.ts';

/** The settings, in milliseconds; absent: such rows are kept. */
export interface RetentionSettings {
  turns?: number | undefined;
  messages?: number | undefined;
  transcripts?: number | undefined;
  idempotencyKeys?: number | undefined;
  deliveries?: number | undefined;
  deadLetters?: number | undefined;
}

/** The rows that one statement reads, for tables whose rows are independent. */
const ROWS_MAX = 1_000;
/** The transcripts that one statement reads, and the entries that it deletes. */
const TRANSCRIPTS_MAX = 50;
const ENTRIES_MAX = 2_000;

interface SimpleKind {
  name: string;
  kind: string;
  table: string;
  purpose: string;
  /** The condition on the row `r`, in addition to its age, under which no other row needs it. */
  isFreeSql: string;
  endedSql: string;
  more?: string;
}

/** A table whose ids grow with time. */
function simplePass({ name, kind, table, purpose, isFreeSql, endedSql, more = '' }: SimpleKind): Statement<unknown[]> {
  return passStatement({
    name,
    kind,
    purpose,
    locking: 'the rows, skipping those that are locked.',
    chunk: `select r.id from holdfast.${table} r where r.id > ${WALK_ID_SQL} and r.id < ${WALK_END_SQL} order by r.id`,
    size: ROWS_MAX,
    place: 'c.id::text',
    order: 'c.id desc',
    deletes: `gone as materialized (
  select r.id from holdfast.${table} r
  where r.id = any (array(select id from chunk)) and ${endedSql} < ${CUTOFF_SQL} and ${isFreeSql}
  for update of r skip locked
),
${more}deleted as (delete from holdfast.${table} r where r.id = any (array(select id from gone)))`,
  });
}

const isTurnOpenSql = (id: string): string =>
  `exists (select from holdfast.turns t where t.id = ${id} and t.ended_at is null)`;

export const DELETE_OLD_SYSTEM_EVENTS = simplePass({
  kind: 'systemEvents',
  table: 'system_events',
  name: 'delete-old-system-events',
  purpose: 'Delete system events that a prompt has shown, or that were dropped, long ago.',
  isFreeSql: `r.state <> 'queued' and not ${isTurnOpenSql('r.turn_id')}`,
  endedSql: 'r.settled_at',
});

export const DELETE_OLD_PROCESSES = simplePass({
  kind: 'processes',
  table: 'processes',
  name: 'delete-old-processes',
  purpose: 'Delete background commands that ended long ago.',
  isFreeSql: `r.status <> 'running' and not ${isTurnOpenSql('r.turn_id')}`,
  endedSql: 'r.ended_at',
});

export const DELETE_OLD_DELIVERIES = simplePass({
  kind: 'deliveries',
  table: 'deliveries',
  name: 'delete-old-deliveries',
  purpose:
    'Delete deliveries that were sent or given up long ago. One with an unknown outcome or an open dead letter stays.',
  isFreeSql: `r.status in ('sent', 'failed', 'expired', 'discarded') and not ${isTurnOpenSql('r.turn_id')}
    and not exists (select from holdfast.dead_letters l where l.delivery_id = r.id and l.state = 'open')`,
  endedSql: 'r.settled_at',
});

export const DELETE_OLD_DEAD_LETTERS = simplePass({
  kind: 'deadLetters',
  table: 'dead_letters',
  name: 'delete-old-dead-letters',
  purpose: 'Delete dead letters that were decided long ago.',
  isFreeSql: `r.state <> 'open'`,
  endedSql: 'r.settled_at',
});

// The newest message of a session says where its heartbeats go and how long it has been silent. A key that is replayed needs its message, so
// a message with a key goes after the key. The results of a batch are read from the messages of its items.
export const DELETE_OLD_MESSAGES = simplePass({
  kind: 'messages',
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
  endedSql: 'r.settled_at',
  more: ['hidden_responses', 'charged_inputs']
    .map(
      (table) =>
        `deleted_${table} as (delete from holdfast.${table} part where part.message_id = any (array(select id from gone))),\n`,
    )
    .join(''),
});

// Keys and ended transcripts have no ids that grow with time, so their passes walk along an index on a time. The chunk has only rows that are
// deleted, and rows of the same microsecond as the place are read again: none is left out. The first two elements of the place are the
// beginning of the walk for versions before migration 0047, which walked along the primary key.
const PLACE_TIME_SQL = `coalesce((nullif((select walk.position from walk), '')::json ->> 2)::timestamptz, '-infinity')`;

export const DELETE_OLD_KEYS = passStatement({
  kind: 'idempotencyKeys',
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

export const DELETE_OLD_TRANSCRIPTS = passStatement({
  kind: 'transcripts',
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
  { kind: 'turns', setting: 'turns', statement: DELETE_OLD_TURNS },
  { kind: 'systemEvents', setting: 'turns', statement: DELETE_OLD_SYSTEM_EVENTS },
  { kind: 'processes', setting: 'turns', statement: DELETE_OLD_PROCESSES },
  { kind: 'idempotencyKeys', setting: 'idempotencyKeys', statement: DELETE_OLD_KEYS },
  { kind: 'messages', setting: 'messages', statement: DELETE_OLD_MESSAGES },
  { kind: 'transcripts', setting: 'transcripts', statement: DELETE_OLD_TRANSCRIPTS },
  { kind: 'deliveries', setting: 'deliveries', statement: DELETE_OLD_DELIVERIES },
  { kind: 'deadLetters', setting: 'deadLetters', statement: DELETE_OLD_DEAD_LETTERS },
] as const satisfies readonly {
  kind: string;
  setting: keyof RetentionSettings;
  statement: Statement<unknown[]>;
}[];

export type RetentionKind = (typeof RETENTION_KINDS)[number];

/** What one statement did. */
export interface RetentionStep {
  /** False: the pass is complete. */
  hasMore: boolean;
  deleted: number;
  deletedInPass: number;
}

export const BEGIN_RETENTION = literal({
  name: 'begin-retention',
  purpose: 'Make the rows of the passes that there are none of yet.',
  locking: 'The rows.',
  text: 'insert into holdfast.retention (kind) select unnest($1::text[]) on conflict do nothing',
});

/** Makes the rows of the passes. */
export async function beginRetention(database: Database): Promise<void> {
  await sendQuery(database.views, BEGIN_RETENTION.prepared([RETENTION_KINDS.map(({ kind }) => kind)]));
}

/** Deletes a bounded number of rows of a kind; null: another process does, or the last pass has just ended. Safe to send again. */
export async function deleteOldRows(
  database: Database,
  { statement }: RetentionKind,
  keepMs: number,
): Promise<RetentionStep | null> {
  const [step] = await sendQuery<RetentionStep & Record<string, unknown>>(database.views, statement.prepared([keepMs]));
  return step ?? null;
}
