// Crons: scheduled work. Each change increments the revision of the cron, so that a plan made from an older revision fires nothing.
// The next slot is stored with the cron; reading it never moves it (G20).
import { storedOptions, type InputOptions } from '../core/input-options.ts';
import type { CronDefinition, CronOrigin, CronPayload, CronTarget, CronDelivery } from '../core/schedule/cron.ts';
import type { MisfirePolicy } from '../core/schedule/plan-ticks.ts';
import type { Schedule } from '../core/schedule/timetable.ts';
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

/** The columns that `cronOf` needs. */
export const CRON_COLUMNS = `id, name, agent_id, origin, schedule, target, payload, wake, misfire, delivery, delete_after_run, is_enabled,
  options, disabled_reason, consecutive_errors, last_slot_at, next_slot_at, due_at, not_before, revision, created_at, updated_at`;

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
${keyedPart(17, 'select to_json(made) from made')}
select * from made`,
});

export const CRON_OF_CAUSE = literal({
  name: 'cron-of-cause',
  purpose: 'Read the cron that a cause has made.',
  text: `select ${CRON_COLUMNS} from holdfast.crons where cause_key = $1`,
});

/**
 * Keeps a new cron. `duplicate`: one was made for the same cause before, and is answered. `full`: its agent has as many as it may have.
 * The key of a request stores the row as its result.
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
): Promise<{ kind: 'created' | 'duplicate'; cron: Cron; row: CronRow } | { kind: 'full' }> {
  const made = await database.views.query(
    CREATE_CRON.prepared([cron.id, cron.origin, ...stateOf(cron), cron.causeKey, ...keyValues(cron.idempotency)]),
  );
  if (made.rows[0] !== undefined) return createdOf('created', made.rows[0]);
  const known = await database.views.query(CRON_OF_CAUSE.prepared([cron.causeKey]));
  return known.rows[0] === undefined ? { kind: 'full' } : createdOf('duplicate', known.rows[0]);
}

function createdOf(kind: 'created' | 'duplicate', row: CronRow) {
  return { kind, row, cron: cronOf(row) };
}

export const FIND_CRON = literal({
  name: 'cron',
  purpose: 'Read a cron.',
  text: `select ${CRON_COLUMNS} from holdfast.crons where id = $1`,
});

/** The cron of this id, or null. */
export async function findCron(database: Database, id: string): Promise<Cron | null> {
  const result = await database.views.query(FIND_CRON.prepared([id]));
  return result.rows[0] === undefined ? null : cronOf(result.rows[0]);
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
  const result = await database.views.query(CHANGE_CRON.prepared([change.id, change.revision, ...stateOf(change)]));
  return result.rows[0] === undefined ? null : cronOf(result.rows[0]);
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
  const result = await database.views.query(CONFIG_CRONS.prepared([]));
  return result.rows.map(cronOf);
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
select clock.now, (select json_agg(due.* order by due.due_at) from due) as due,
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
    due: ((row.due ?? []) as CronRow[]).map(cronOf),
    nowMs: row.now.getTime(),
    nextInMs: row.next_in_ms === null ? null : Math.max(0, Number(row.next_in_ms)),
  };
}

/** A row of the table, read directly or through `json_agg`, which writes times as text. */
export interface CronRow {
  id: string;
  name: string;
  agent_id: string;
  origin: CronOrigin;
  schedule: Schedule;
  target: CronTarget;
  payload: CronPayload;
  wake: CronDefinition['wake'];
  misfire: MisfirePolicy | null;
  delivery: CronDelivery | null;
  delete_after_run: boolean;
  options: InputOptions | null;
  is_enabled: boolean;
  disabled_reason: string | null;
  consecutive_errors: number;
  last_slot_at: Date | string | null;
  next_slot_at: Date | string | null;
  due_at: Date | string | null;
  not_before: Date | string | null;
  revision: string | number;
  created_at: Date | string;
  updated_at: Date | string;
}

export function cronOf(row: CronRow): Cron {
  return {
    id: row.id,
    name: row.name,
    agentId: row.agent_id,
    origin: row.origin,
    schedule: row.schedule,
    target: row.target,
    payload: row.payload,
    wake: row.wake,
    misfire: row.misfire,
    delivery: row.delivery,
    deleteAfterRun: row.delete_after_run,
    options: row.options ?? {},
    isEnabled: row.is_enabled,
    disabledReason: row.disabled_reason,
    failures: row.consecutive_errors,
    lastSlotMs: msOf(row.last_slot_at),
    nextSlotMs: msOf(row.next_slot_at),
    dueMs: msOf(row.due_at),
    notBeforeMs: msOf(row.not_before),
    revision: Number(row.revision),
    createdMs: new Date(row.created_at).getTime(),
    updatedMs: new Date(row.updated_at).getTime(),
  };
}

function msOf(time: Date | string | null): number | null {
  return time === null ? null : new Date(time).getTime();
}

/** The time of epoch milliseconds, as a value of a statement. */
export function timeOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
