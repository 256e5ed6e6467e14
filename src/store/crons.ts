// Crons: scheduled work. Each change increments the revision of the cron, so that a plan made from an older revision fires nothing.
// The next slot is stored with the cron; reading it never moves it (G20).
import { storedOptions } from '../core/input-options.ts';
import type { CronDefinition, CronOrigin } from '../core/schedule/cron.ts';
import type { Database } from './database.ts';
import { keyedPart, keyValues, type KeyedRequest } from './idempotency.ts';
import { literal } from './statement.ts';

/** A cron as it is kept. Times are epoch milliseconds. */
export interface Cron extends CronDefinition {
  id: string;
  origin: CronOrigin;
  isEnabled: boolean;
  disabledReason: string | null;
  /** Failed runs in a row. */
  failures: number;
  lastSlotMs: number | null;
  /** The first slot without an outcome; null: there is none. */
  nextSlotMs: number | null;
  /** When the next slot is due: its time and its stagger. */
  dueMs: number | null;
  /** Slots before it are passed over, for the cron has failed. */
  notBeforeMs: number | null;
  revision: number;
  createdMs: number;
  updatedMs: number;
}

/** When a cron must be checked next. */
export interface NextSlot {
  slotMs: number | null;
  dueMs: number | null;
}

/** The most crons of one agent. */
export const CRONS_PER_AGENT_MAX = 1_000;

const msSql = (time: string, name: string): string => `floor(extract(epoch from ${time}) * 1000)::float8 as "${name}"`;

/** SQL of the columns of a `Cron`. */
export const CRON_COLUMNS = `id, name, agent_id as "agentId", origin, schedule, target, payload, wake, misfire, delivery,
  delete_after_run as "deleteAfterRun", coalesce(options, '{}') as options, is_enabled as "isEnabled", disabled_reason as "disabledReason",
  consecutive_errors as failures, ${msSql('last_slot_at', 'lastSlotMs')}, ${msSql('next_slot_at', 'nextSlotMs')}, ${msSql('due_at', 'dueMs')},
  ${msSql('not_before', 'notBeforeMs')}, revision::float8 as revision, ${msSql('created_at', 'createdMs')}, ${msSql('updated_at', 'updatedMs')}`;

export const DATABASE_TIME = literal({
  name: 'database-time',
  purpose: 'Read the time of the database.',
  text: 'select clock_timestamp() as now',
});

/** The database's time, by which slots are due (G8), in epoch milliseconds. */
export async function readDatabaseTime(database: Database): Promise<number> {
  const result = await database.views.query(DATABASE_TIME.prepared([]));
  return result.rows[0].now.getTime();
}

export const CREATE_CRON = literal({
  name: 'create-cron',
  purpose: 'Store a new cron, unless its agent is full or its cause has made one. Answers the row.',
  text: `with made as (
  insert into holdfast.crons (id, origin, name, agent_id, schedule, target, payload, wake, misfire, delivery, delete_after_run,
    is_enabled, next_slot_at, due_at, options, cause_key)
  select $1, $2, $3, $4, $5::json, $6, $7::json, $8, $9, $10::json, $11, $12, $13::timestamptz, $14::timestamptz, $15::json, $16
  where (select count(*) from holdfast.crons c where c.agent_id = $4) < ${CRONS_PER_AGENT_MAX}
  on conflict do nothing
  returning ${CRON_COLUMNS}
),
${keyedPart(17, `select json_build_object('id', id) from made`)}
select * from made`,
});

export const CRON_OF_CAUSE = literal({
  name: 'cron-of-cause',
  purpose: 'Read the cron that a cause has made.',
  text: `select ${CRON_COLUMNS} from holdfast.crons where cause_key = $1`,
});

/**
 * Keeps a new cron. `duplicate`: one was made for the same cause before, and is answered. `full`: its agent has as many as it may have.
 * The key of a request stores its id as the result.
 */
export async function createCron(
  database: Database,
  cron: {
    id: string;
    origin: CronOrigin;
    definition: CronDefinition;
    isEnabled: boolean;
    causeKey: string | null;
    idempotency?: KeyedRequest | null | undefined;
  } & NextSlot,
): Promise<{ kind: 'created' | 'duplicate'; cron: Cron } | { kind: 'full' }> {
  const made = await database.views.query<Cron>(
    CREATE_CRON.prepared([cron.id, cron.origin, ...stateOf(cron), cron.causeKey, ...keyValues(cron.idempotency)]),
  );
  if (made.rows[0] !== undefined) return { kind: 'created', cron: made.rows[0] };
  const known = await database.views.query<Cron>(CRON_OF_CAUSE.prepared([cron.causeKey]));
  return known.rows[0] === undefined ? { kind: 'full' } : { kind: 'duplicate', cron: known.rows[0] };
}

export const FIND_CRON = literal({
  name: 'cron',
  purpose: 'Read a cron.',
  text: `select ${CRON_COLUMNS} from holdfast.crons where id = $1`,
});

/** The cron of this id, or null. */
export async function findCron(database: Database, id: string): Promise<Cron | null> {
  return (await database.views.query<Cron>(FIND_CRON.prepared([id]))).rows[0] ?? null;
}

export const CHANGE_CRON = literal({
  name: 'change-cron',
  purpose: 'Write the new state of a cron, unless it has changed since. Answers the row.',
  locking: "The cron's row.",
  text: `update holdfast.crons
set name = $3, agent_id = $4, schedule = $5::json, target = $6, payload = $7::json, wake = $8, misfire = $9, delivery = $10::json,
  delete_after_run = $11, is_enabled = $12, next_slot_at = $13, due_at = $14, options = $15::json, disabled_reason = null,
  consecutive_errors = 0, not_before = null, notice_id = null, revision = revision + 1, updated_at = clock_timestamp()
where id = $1 and revision = $2
returning ${CRON_COLUMNS}`,
});

/**
 * Writes the new state of a cron, unless it has changed since `revision`. Resets its count of failed runs and the reason why it was
 * disabled. Null: it has changed or was deleted.
 */
export async function changeCron(
  database: Database,
  change: { id: string; revision: number; definition: CronDefinition; isEnabled: boolean } & NextSlot,
): Promise<Cron | null> {
  const values = [change.id, change.revision, ...stateOf(change)];
  return (await database.views.query<Cron>(CHANGE_CRON.prepared(values))).rows[0] ?? null;
}

/** The values that a change writes, in the order of the columns. */
function stateOf(cron: { definition: CronDefinition; isEnabled: boolean } & NextSlot): unknown[] {
  const { name, agentId, schedule, target, payload, wake, misfire, delivery, deleteAfterRun, options } =
    cron.definition;
  return [
    name,
    agentId,
    JSON.stringify(schedule),
    target,
    JSON.stringify(payload),
    wake,
    misfire,
    delivery === null ? null : JSON.stringify(delivery),
    deleteAfterRun,
    cron.isEnabled,
    timeOf(cron.slotMs),
    timeOf(cron.dueMs),
    storedOptions(options),
  ];
}

export const DELETE_CRON = literal({
  name: 'delete-cron',
  purpose: 'Delete a cron with its fires.',
  locking: "The cron's row, then its fires.",
  text: 'delete from holdfast.crons where id = $1',
});

/** Deletes a cron and its fires; false when it does not exist. The transcripts of its runs stay. */
export async function deleteCron(database: Database, id: string): Promise<boolean> {
  const result = await database.views.query(DELETE_CRON.prepared([id]));
  return result.rowCount === 1;
}

export const CONFIG_CRONS = literal({
  name: 'config-crons',
  purpose: 'Read the crons of the configuration file.',
  text: `select ${CRON_COLUMNS} from holdfast.crons where origin = 'config' order by id`,
});

/** The crons of the configuration file, as they are kept. */
export async function readConfigCrons(database: Database): Promise<Cron[]> {
  return (await database.views.query<Cron>(CONFIG_CRONS.prepared([]))).rows;
}

export const DISABLE_CRON = literal({
  name: 'disable-cron',
  purpose: 'Switch a cron off, unless it has changed since.',
  locking: "The cron's row.",
  text: `update holdfast.crons
set is_enabled = false, disabled_reason = $3, notice_id = $4, revision = revision + 1, updated_at = clock_timestamp()
where id = $1 and revision = $2`,
});

/** Switches a cron off, with the reason, unless it has changed since `revision`. */
export async function disableCron(
  database: Database,
  cron: { id: string; revision: number; reason: string; noticeId: string | null },
): Promise<void> {
  await database.views.query(DISABLE_CRON.prepared([cron.id, cron.revision, cron.reason, cron.noticeId]));
}

export const DUE_CRONS = literal({
  name: 'due-crons',
  purpose: 'Read the crons that are due, and when the next one is.',
  text: `with clock as materialized (select clock_timestamp() as now),
due as (
  select ${CRON_COLUMNS} from holdfast.crons c, clock where c.is_enabled and c.due_at <= clock.now order by c.due_at limit $1
)
select clock.now, (select json_agg(due.* order by due."dueMs") from due) as due,
  (select extract(epoch from min(c.due_at) - clock.now) * 1000 from holdfast.crons c where c.is_enabled and c.due_at > clock.now)
    as next_in_ms
from clock`,
});

/** The crons that are due now, the database's time, and in how many milliseconds the next is due; null when none will be. */
export async function readDueCrons(
  database: Database,
  limit: number,
): Promise<{ due: Cron[]; nowMs: number; nextInMs: number | null }> {
  const result = await database.hot.query(DUE_CRONS.prepared([limit]));
  const row = result.rows[0];
  return {
    due: (row.due ?? []) as Cron[],
    nowMs: row.now.getTime(),
    nextInMs: row.next_in_ms === null ? null : Math.max(0, Number(row.next_in_ms)),
  };
}

/** The time of epoch milliseconds, as a value of a statement. */
export function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
