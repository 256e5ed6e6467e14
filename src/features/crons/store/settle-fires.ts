// The results of fires: a fire ends when its input is settled, by a turn or in another way. The
// cron is not notified: the schedulers read the rows, and what they decide follows from the rows
// alone.
import type { SystemEventId } from '../../../core/ids.ts';
import { DONE, type CronRunEffect, type RunCron, type CronRunResult } from '../rules/fires.ts';
import { crons } from '../rows.ts';
import { CHANGED, toDate } from './crons.ts';
import type { Database } from '../../../database/database.ts';
import { and, eq, isNotNull, isNull, ne, query, sql } from '../../../database/drizzle.ts';
import { SOON_SQL } from '../../../kernel/queue/work-watch.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A fire whose input is settled, with what decides about its cron. */
export interface EndedFire {
  cronId: string;
  scheduledFor: Date;
  end: CronRunResult;
  /** The revision is that of now. */
  cron: RunCron & { revision: number };
}

const ENDED_MAX = 500;

export const settleQuietFires = literalQuery({
  name: 'settle-fires',
  purpose: 'Settle the runs that went well and change nothing about their cron: nearly all.',
  locking: 'The fires, skipping those that are locked.',
  text: `with ended as materialized (
  select f.cron_id, f.scheduled_for, i.turn_id, i.settled_at
  from holdfast.cron_fires f join holdfast.inbox i on i.id = f.message_id join holdfast.crons c on c.id = f.cron_id
  where f.status = 'claimed' and i.status in ('answered', 'silent') and c.consecutive_errors = 0
    and (f.is_manual or not c.delete_after_run)
  order by f.cron_id, f.scheduled_for limit ${ENDED_MAX}
  for no key update of f skip locked
)
update holdfast.cron_fires f set status = 'completed', turn_id = ended.turn_id, ended_at = ended.settled_at
from ended where f.cron_id = ended.cron_id and f.scheduled_for = ended.scheduled_for`,
});

export const endedFires = literalQuery({
  name: 'ended-fires',
  purpose: 'Read the runs whose end changes something about their cron, in the order of their ends.',
  retryMs: 0,
  text: `select f.cron_id as "cronId", f.scheduled_for as "scheduledFor", i.status, coalesce(i.error, t.error) as error,
  json_build_object('isOneShot', c.schedule ->> 'kind' = 'at', 'isDeletedAfterRun', c.delete_after_run,
    'failures', c.consecutive_errors, 'isManual', f.is_manual, 'isChanged', coalesce(f.revision <> c.revision, false),
    'revision', c.revision) as cron
from holdfast.cron_fires f join holdfast.inbox i on i.id = f.message_id join holdfast.crons c on c.id = f.cron_id
left join holdfast.turns t on t.id = i.turn_id
where f.status = 'claimed' and i.settled_at is not null
order by i.settled_at, f.cron_id, f.scheduled_for limit ${ENDED_MAX}`,
  answer: (fires: (Omit<EndedFire, 'end'> & SettledInput)[]): EndedFire[] =>
    fires.map(({ status, error, ...fire }) => ({ ...fire, end: toEnd({ status, error }) })),
});

/**
 * Settles successful fires, and returns those whose end changes their cron, in the order of their
 * ends.
 */
export async function settleFires(database: Database): Promise<EndedFire[]> {
  await settleQuietFires(database);
  return endedFires(database);
}

interface SettledInput {
  status: string;
  error: { code?: unknown; message?: unknown } | null;
}

function toEnd({ status, error }: SettledInput): CronRunResult {
  if (status === 'answered' || status === 'silent') return { kind: 'ok' };
  if (status !== 'failed') return { kind: 'cancelled' };
  const { code, message } = error ?? {};
  return {
    kind: 'failed',
    code: typeof code === 'string' ? code : 'unknown',
    message: typeof message === 'string' ? message : 'no reason was recorded',
  };
}

// The cron is locked first, and its count of failures and its revision must still be those that the
// decision was based on: of two schedulers that decide, one applies its decision, and none applies
// it to a cron that was changed since. The next round decides again.
export const settleFire = literalQuery({
  name: 'settle-fire',
  purpose:
    'Settle a run and write what follows for its cron, with the id of the notice to its owner. No effect when it was written before.',
  locking: 'The cron, then the fire.',
  text: `with held as materialized (
  select c.id from holdfast.crons c where c.id = $cronId and c.consecutive_errors = $before and c.revision = $revision for no key update
),
settled as (
  update holdfast.cron_fires f
  set status = $status, turn_id = i.turn_id, ended_at = i.settled_at, reason = $reason
  from held, holdfast.inbox i
  where f.cron_id = held.id and f.scheduled_for = $scheduledFor and f.status = 'claimed' and i.id = f.message_id
  returning f.cron_id
)
update holdfast.crons c
set consecutive_errors = $failures, not_before = coalesce($notBefore::timestamptz, case when $failures = 0 then null else c.not_before end),
  next_slot_at = coalesce($retrySlot::timestamptz, c.next_slot_at), due_at = coalesce($retrySlot::timestamptz, c.due_at),
  is_enabled = c.is_enabled and $disabledReason::text is null,
  disabled_reason = coalesce($disabledReason, c.disabled_reason), notice_id = coalesce($noticeId::uuid, c.notice_id),
  updated_at = clock_timestamp()
from settled where c.id = settled.cron_id`,
  values: ({ end, cron, ...fire }: EndedFire, effect: CronRunEffect, noticeId: SystemEventId | null) => ({
    ...fire,
    ...effect,
    before: cron.failures,
    revision: cron.revision,
    status: end.kind === 'ok' ? 'completed' : 'failed',
    reason: end.kind === 'ok' ? null : end.kind === 'cancelled' ? 'cancelled' : end.code,
    notBefore: toDate(effect.notBeforeMs),
    retrySlot: toDate(effect.retrySlotMs),
    noticeId,
  }),
});

/** SQL of whether a cron is due soon, or a run has ended. */
export const HAS_DUE_SQL = `exists (select from holdfast.crons c where c.is_enabled and c.due_at <= ${SOON_SQL})
or exists (select from holdfast.cron_fires f join holdfast.inbox i on i.id = f.message_id where f.status = 'claimed' and i.settled_at is not null)`;

/** SQL of whether a cron may be over, or a notice is owed. */
export const HAS_OVER_SQL = `exists (select from holdfast.crons c where c.is_enabled and c.next_slot_at is null)
or exists (select from holdfast.crons c where c.delete_after_run and c.disabled_reason = '${DONE}' and not c.is_enabled and c.origin <> 'config')
or exists (select from holdfast.crons c where c.notice_id is not null)`;

/**
 * Disables the crons that have no slot left and no active run, and deletes those with
 * `deleteAfterRun`.
 */
export async function retireCrons(database: Database): Promise<void> {
  const runs = sql`(select from holdfast.cron_fires f where f.cron_id = ${crons.id} and f.status = 'claimed')`;
  const isOver = and(crons.isEnabled, isNull(crons.nextSlotMs), sql`not exists ${runs}`);
  const over = { isEnabled: false, disabledReason: DONE, ...CHANGED };
  await query(database.views, (db) => db.update(crons).set(over).where(isOver));
  const isDone = and(crons.deleteAfterRun, eq(crons.disabledReason, DONE), sql`not ${crons.isEnabled}`);
  await query(database.views, (db) => db.delete(crons).where(and(isDone, ne(crons.origin, 'config'))));
}

const NOTICES_MAX = 100;

/**
 * The notices that are owed: crons that were disabled and whose owner has not been notified yet.
 */
export async function readOwedNotices(database: Database) {
  const isOwed = isNotNull(crons.noticeId);
  const owed = await query(database.views, (db) =>
    db.select().from(crons).where(isOwed).orderBy(crons.id).limit(NOTICES_MAX),
  );
  return owed.map(({ id, noticeId, agentId, name, origin, disabledReason }) => ({
    cronId: id,
    noticeId: noticeId as SystemEventId,
    agentId,
    name,
    origin,
    reason: disabledReason ?? 'no reason was recorded',
  }));
}

/** Notes that a notice was given. */
export async function closeNotice(database: Database, noticeId: SystemEventId): Promise<void> {
  await query(database.views, (db) => db.update(crons).set({ noticeId: null }).where(eq(crons.noticeId, noticeId)));
}

/**
 * How long fires are kept. Their slots are never fired again: the schedule follows from the last
 * slot.
 */
const FIRES_KEPT_DAYS = 30;
const TRIMMED_MAX = 5_000;

export const trimFires = literalQuery({
  name: 'trim-fires',
  purpose: 'Delete old fires, a bounded number at a time. Answers whether there may be more of them.',
  locking: 'The fires.',
  retryMs: 0,
  text: `delete from holdfast.cron_fires f using (
  select cron_id, scheduled_for from holdfast.cron_fires
  where created_at < clock_timestamp() - interval '${FIRES_KEPT_DAYS} days' and status <> 'claimed'
  order by created_at limit ${TRIMMED_MAX}
) as old
where f.cron_id = old.cron_id and f.scheduled_for = old.scheduled_for returning 1`,
  answer: (rows) => rows.length === TRIMMED_MAX,
});
