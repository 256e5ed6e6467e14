// What people do to a batch: pause, resume, cancel, retry what failed, change its settings, delete
// it. Each is one statement that also stores the key of its request; what the state does not allow
// changes nothing and answers the state. Guards pause and resume it by statements of their own.
import type { z } from 'zod';
import { UPLOAD_HOURS, type BatchStatus, type PauseReason } from '../rules/batch.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { batchPatch } from '../contract.ts';
import { changedCapsSql } from './batch-cap.ts';
import type { Database } from '../../../database/database.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { keyedSql, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';
import { afterOfRings, RINGS_SQL, type NeededRing } from '../../../kernel/queue/rings.ts';

/**
 * `done`: it holds now, by this request or by an earlier one. `refused`: the state does not allow
 * it.
 */
export type BatchControl =
  | { kind: 'done' }
  | { kind: 'unknown' }
  | { kind: 'refused'; status: BatchStatus; isOverCap: boolean };

interface ControlRow {
  status: BatchStatus;
  isAllowed: boolean;
  isOverCap: boolean;
}

function toAnswer([row]: ControlRow[]): BatchControl {
  if (row === undefined) return { kind: 'unknown' };
  return row.isAllowed ? { kind: 'done' } : { kind: 'refused', status: row.status, isOverCap: row.isOverCap };
}

interface CommandParts {
  name: string;
  purpose: string;
  locking: string;
  /** SQL of whether the state of the batch `b` allows the change. */
  allowed: string;
  /** CTEs that carry it out on `held`, the batch before the change, and write its event. */
  change: string;
}

/** A command with an Idempotency-Key; `more` are the values that it alone has. */
function buildCommand({ allowed, change, ...facts }: CommandParts) {
  return literalQuery({
    ...facts,
    pool: 'views',
    values: (batchId: string, idempotency: KeyedRequest | null, more: object = {}) => ({
      batchId,
      ...idempotency,
      ...more,
    }),
    answer: toAnswer,
    text: `with found as materialized (
  select b.*, b.max_cost_micros is not null and coalesce(b.cost_micros, 0) >= b.max_cost_micros as is_over_cap
  from holdfast.batches b where b.id = $batchId and b.status <> 'uploading' for no key update
),
held as materialized (select * from found b where ${allowed}),
${change},
${keyedSql(`select json_build_object('batchId', id) from held`)}
select found.status, found.is_over_cap as "isOverCap", exists (select from held) as "isAllowed" from found`,
  });
}

/** CTEs that pause batches, which `which` chooses. */
const pausedSql = (which: string, reason: string, detail: string): string => `changed as (
  update holdfast.batches b
  set status = 'paused', pause_reason = ${reason}, pause_detail = ${detail}, paused_at = clock_timestamp(), revision = b.revision + 1
  ${which}
  returning b.id
),
inserted_events as (
  ${insertServiceEventsSql('changed', 'batch.paused', `'batchId', id, 'reason', ${reason}, 'detail', ${detail}`)}
)`;

const NOT_PAUSED = 'pause_reason = null, pause_detail = null, paused_at = null';

/** A CTE of the event of the batches `changed` that run again. */
const RESUMED = `inserted_events as (
  ${insertServiceEventsSql('changed', 'batch.resumed', `'batchId', id`)}
)`;

export const pauseByHand = buildCommand({
  name: 'pause-batch-by-hand',
  purpose:
    'Pause a batch; one that is paused stays so, also one that a guard would resume by itself. Answers its state before.',
  locking: 'The batch.',
  allowed: `b.status in ('running', 'paused')`,
  change: pausedSql(
    `from held where b.id = held.id and (held.status = 'running' or held.pause_reason in ('budget', 'cost_cap'))`,
    `'manual'`,
    'null',
  ),
});

export const resumeBatch = buildCommand({
  name: 'resume-batch',
  purpose: 'Resume a paused batch; the guards and the rate begin to count anew. Answers its state before.',
  locking: 'The batch, then its minutes.',
  allowed: `b.status = 'running' or b.status = 'paused' and not b.is_over_cap`,
  change: `changed as (
  update holdfast.batches b
  set status = 'running', pilot = case when held.pause_reason = 'pilot_done' then null else b.pilot end, ${NOT_PAUSED},
    recent = '', mark_at = clock_timestamp(), revision = b.revision + 1
  from held where b.id = held.id and held.status = 'paused'
  returning b.id
),
deleted_minutes as (delete from holdfast.batch_minutes m using changed where m.batch_id = changed.id),
${RESUMED}`,
});

export const cancelBatch = buildCommand({
  name: 'cancel-batch',
  purpose:
    'Cancel a batch: nothing of it is fed from now on. `stopsRunning`: its running turns are stopped. Answers its state before.',
  locking: 'The batch.',
  allowed: `b.status in ('running', 'paused', 'cancelling') or b.status = 'ended' and b.outcome = 'cancelled'`,
  change: `changed as (
  update holdfast.batches b
  set status = 'cancelling', stops_running = b.stops_running or $stopsRunning::boolean, ${NOT_PAUSED}, revision = b.revision + 1
  from held where b.id = held.id and held.status <> 'ended'
)`,
});

// The next attempt of an item is another input: it has another cause key.
export const retryFailed = buildCommand({
  name: 'retry-failed-items',
  purpose:
    'Make failed items of a batch pending again: all, those with a code, or those of a list. Answers its state before.',
  locking:
    'The batch, then its items and minutes, then its cap, then the sessions of turns that wait for the cap in the order of their ids, then the dead letters of its turns in the order of theirs.',
  allowed: `b.status in ('running', 'paused', 'ended')`,
  change: `again as (
  update holdfast.batch_items i
  set status = 'pending', attempt = i.attempt + 1, is_ready = true, error = null, error_code = null, ended_at = null, turn_id = null,
    message_id = null
  from held, holdfast.batch_items old
  where i.batch_id = held.id and i.status in ('failed', 'expired') and old.batch_id = i.batch_id and old.n = i.n
    and ($code::text is null or i.error_code = $code) and ($ns::int[] is null or i.n = any ($ns))
    -- An erasure has removed the text of the others.
    and i.body::text <> '{}'
  returning i.batch_id, old.status, old.turn_id
),
-- The new attempt answers them; redriving one as well would do its work twice.
answered_letters as materialized (
  select l.id from holdfast.dead_letters l where l.turn_id in (select turn_id from again) and l.kind = 'turn' and l.state = 'open'
  order by l.id for no key update
),
redriven_letters as (
  update holdfast.dead_letters l set state = 'redriven', settled_at = clock_timestamp() from answered_letters a where l.id = a.id
),
-- The rate of a batch that has ended begins anew.
deleted_minutes as (
  delete from holdfast.batch_minutes m using held where m.batch_id = held.id and held.status = 'ended' and exists (select from again)
),
changed as (
  update holdfast.batches b
  set status = case when b.status = 'ended' then 'running' else b.status end, outcome = null, ended_at = null, stops_running = false,
    failed = b.failed - counted.failed, expired = b.expired - counted.expired, recent = '', revision = b.revision + 1,
    deadline_at = case when b.deadline_at <= clock_timestamp() then null else b.deadline_at end,
    mark_at = case when b.status = 'ended' then clock_timestamp() else b.mark_at end
  from (
    select batch_id, count(*) filter (where status = 'failed')::int as failed, count(*) filter (where status = 'expired')::int as expired
    from again group by batch_id
  ) as counted
  where b.id = counted.batch_id
  returning b.id, b.max_cost_micros, b.cost_micros
),
-- The end of the batch has removed its cap.
${changedCapsSql('changed')},
${RESUMED}`,
});

/** The effect of a request on a batch. */
export type BatchCommand =
  | { kind: 'pause' | 'resume' }
  | { kind: 'cancel'; stopsRunning: boolean }
  | { kind: 'retry-failed'; code: string | null; ns: readonly number[] | null };

/**
 * Carries it out. Rejects with a violated primary key when another request has stored the key; see
 * `isKeyTaken`.
 */
export function controlBatch(
  database: Database,
  { batchId, command, idempotency }: { batchId: string; command: BatchCommand; idempotency: KeyedRequest | null },
): Promise<BatchControl> {
  switch (command.kind) {
    case 'pause':
      return pauseByHand(database, batchId, idempotency);
    case 'resume':
      return resumeBatch(database, batchId, idempotency);
    case 'cancel':
      return cancelBatch(database, batchId, idempotency, command);
    case 'retry-failed':
      return retryFailed(database, batchId, idempotency, command);
    default:
      return command satisfies never;
  }
}

/** Absent: unchanged. Null clears it. */
export type BatchPatch = Omit<z.output<typeof batchPatch>, 'maxCostUsd'> & { maxCostMicros?: number | null };

export const patchBatch = literalQuery({
  name: 'patch-batch',
  purpose: 'Change settings of a batch that has not ended. Answers its state.',
  locking: 'The batch.',
  text: `with found as materialized (select * from holdfast.batches where id = $batchId and status <> 'uploading' for no key update),
changed as (
  update holdfast.batches b
  set (name, concurrency, weight, max_cost_micros, max_failure_percent, via) = (
      select n.name, n.concurrency, n.weight, n.max_cost_micros, n.max_failure_percent, n.via from json_populate_record(b, $changes::json) as n),
    deadline_at = coalesce(clock_timestamp() + $deadlineSeconds::float8 * interval '1 second', b.deadline_at),
    -- Items that are fed from now on take the new way; first items and a choice belong to the one before.
    probe_to = case when not $hasWay then b.probe_to end, probe_at = case when not $hasWay then b.probe_at end,
    choice = case when not $hasWay then b.choice end, revision = b.revision + 1,
    status = case when is_raised then 'running' else b.status end, pause_reason = case when not is_raised then b.pause_reason end,
    pause_detail = case when not is_raised then b.pause_detail end, paused_at = case when not is_raised then b.paused_at end
  from found, lateral (select found.status = 'paused' and found.pause_reason = 'cost_cap' and $hasCap::boolean
    and coalesce($maxCostMicros::bigint > greatest(found.max_cost_micros, found.cost_micros), true) as is_raised) as cap
  where b.id = found.id and found.status <> 'ended'
  returning b.*
),
${changedCapsSql('changed')}
select status, status <> 'ended' as "isAllowed", false as "isOverCap",
  ${RINGS_SQL} as rings
from found`,
  pool: 'views',
  values: (batchId: string, { deadlineSeconds, maxCostMicros, maxFailurePercent, ...same }: BatchPatch) => ({
    batchId,
    deadlineSeconds,
    maxCostMicros,
    hasCap: maxCostMicros !== undefined,
    hasWay: same.via !== undefined,
    changes: JSON.stringify({ ...same, max_cost_micros: maxCostMicros, max_failure_percent: maxFailurePercent }),
  }),
  answer: (rows: (ControlRow & { rings: NeededRing[] })[]): Committed<BatchControl> => {
    const answer = toAnswer(rows);
    return answer.kind === 'done' ? { ...answer, after: afterOfRings(rows[0]?.rings ?? []) } : answer;
  },
});

/** A batch as a guard has judged it: what a person has changed since then stays. */
export interface Judged {
  id: string;
  revision: number;
}

export const BY_REVISION = `b.id = $id and b.revision = $revision`;

export const pauseBatch = literalQuery({
  name: 'pause-batch',
  purpose: 'Pause a batch for a guard, if no person has changed it since the decision.',
  locking: 'The batch.',
  text: `with ${pausedSql(`where ${BY_REVISION} and b.status = 'running'`, '$reason::text', '$detail::text')}
select id from changed`,
  values: (batch: Judged, verdict: { reason: PauseReason; detail: string }) => ({ ...batch, ...verdict }),
  answer: (rows) => rows.length > 0,
});

/**
 * Pauses the batches whose requests the provider refuses for the key or the account; the requests
 * wait until a person resumes the batches.
 */
export const pauseRefused = literalQuery({
  name: 'pause-refused',
  purpose: 'Pause the batches that have requests in a submission which the provider has refused.',
  locking: 'The batches, in the order of their ids.',
  text: `with refused as materialized (
  select b.id from holdfast.batches b
  where b.status = 'running' and b.id in (
    select r.batch_id from holdfast.provider_requests r where r.provider_batch_id = $submissionId and r.status = 'assigned')
  order by b.id for no key update
),
${pausedSql(`from refused where b.id = refused.id and b.status = 'running'`, `'provider_refused'`, '$detail::text')}
select id from changed`,
  retryMs: LASTING_RETRY_MS,
  values: (refusal: { submissionId: string; detail: string }) => refusal,
});

export const resumeForGuard = literalQuery({
  name: 'resume-batch-for-guard',
  purpose: 'Resume a batch that a budget or its cap has paused, if no person has changed it since the decision.',
  locking: 'The batch.',
  text: `with changed as (
  update holdfast.batches b set status = 'running', ${NOT_PAUSED}, revision = b.revision + 1
  where ${BY_REVISION} and b.status = 'paused' and b.pause_reason in ('budget', 'cost_cap')
  returning b.id
),
${RESUMED}
select id from changed`,
  values: (batch: Judged) => batch,
});

/** CTEs that delete what belongs to the batches `deleted`, but for their items. */
const DELETED_PARTS = `deleted_hops as (delete from holdfast.batch_hops h using deleted where h.batch_id = deleted.id),
deleted_minutes as (delete from holdfast.batch_minutes m using deleted where m.batch_id = deleted.id),
deleted_charged as (delete from holdfast.charged_inputs c using deleted where c.batch_id = deleted.id and not c.is_counted)`;

export const deleteBatch = literalQuery({
  name: 'delete-batch',
  purpose: 'Delete an ended batch with its items; the sessions of its items stay. Answers its state before.',
  locking: 'The batch, then its items.',
  text: `with found as materialized (select id, status from holdfast.batches where id = $1 and status <> 'uploading' for update),
deleted as (delete from holdfast.batches b using found where b.id = found.id and found.status = 'ended' returning b.id),
deleted_items as (delete from holdfast.batch_items i using deleted where i.batch_id = deleted.id),
${DELETED_PARTS}
select status, status = 'ended' as "isAllowed", false as "isOverCap" from found`,
  pool: 'views',
  values: (batchId: string) => [batchId],
  answer: toAnswer,
});

const TRIMMED_MAX = 5_000;

// Items first, a bounded number at a time; the row of the batch goes when none is left.
export const trimBatches = literalQuery({
  name: 'trim-batches',
  purpose:
    'Delete items of batches that ended $1 milliseconds ago, and of uploads that were left behind; then those batches.',
  locking: 'The oldest of those batches, unless it is locked, then its items.',
  text: `with old as materialized (
  select b.id from holdfast.batches b
  where b.status = 'ended' and b.ended_at < clock_timestamp() - $1 * interval '1 millisecond'
    or b.status = 'uploading' and b.created_at < clock_timestamp() - interval '${UPLOAD_HOURS} hours'
  order by b.id limit 1 for update skip locked
),
chosen as materialized (
  select i.batch_id, i.n from old join holdfast.batch_items i on i.batch_id = old.id limit ${TRIMMED_MAX}
),
deleted_items as (
  delete from holdfast.batch_items i using chosen where i.batch_id = chosen.batch_id and i.n = chosen.n
),
deleted as (delete from holdfast.batches b using old where b.id = old.id and (select count(*) from chosen) < ${TRIMMED_MAX}
  returning b.id),
${DELETED_PARTS}
select count(*)::int as batches from old`,
  values: (retentionMs: number) => [retentionMs],
  answer: ([row]: { batches: number }[]) => (row?.batches ?? 0) > 0,
});
