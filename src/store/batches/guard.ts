// What the schedulers decide about open batches: the end, a pause, the end of a pilot. A decision is made from counts that were read, and its
// statement applies it only if they still allow it.
import type { Committed } from '../../after-commit.ts';
import type { BatchOutcome, PauseReason } from '../../core/batch/batch.ts';
import type { BatchState } from '../../core/batch/judge-batch.ts';
import type { SessionId } from '../../core/ids.ts';
import type { CacheSetting } from '../../core/provider-batch/cache-markers.ts';
import type { Choice, MeasuredRound } from '../../core/provider-batch/choose-way.ts';
import { isCapFreedSql, isCapReachedSql, removedCapsSql } from '../budgets/batch-cap.ts';
import { FOLLOW_UPS_SQL } from '../charged-inputs.ts';
import type { Database } from '../database.ts';
import { insertEventsSql } from '../events.ts';
import { deliveryRing } from '../rings.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** An open batch with what decides about it. */
export interface JudgedBatch extends Omit<BatchState, 'budget'> {
  id: string;
  agentId: string;
  name: string | null;
  revision: number;
  deliver: { url: string } | null;
  createdBy: string;
  /** Items that were not fed expire. */
  isOverdue: boolean;
}

export const OPEN_BATCHES = literal({
  name: 'open-batches',
  purpose: 'Read the counts of the batches that have not ended.',
  text: `select b.id, b.agent_id as "agentId", b.name, b.via, b.status, b.revision::int as revision, b.defaults -> 'deliver' as deliver,
  b.item_count as "itemCount", b.in_flight as "inFlight", b.answered, b.silent, b.failed, b.cancelled, b.expired, b.pilot,
  b.max_failure_percent as "maxFailurePercent", b.recent, b.cost_micros::float8 as "costMicros",
  b.max_cost_micros::float8 as "maxCostMicros", coalesce(b.deadline_at <= clock_timestamp(), false) as "isOverdue",
  b.pause_reason as "pauseReason", b.created_by as "createdBy", ${isCapReachedSql('b')} as "isCapReached",
  ${isCapFreedSql('b')} as "isCapFreed", b.probe_to as "probeTo", b.choice is not null as "isWayChosen",
  (extract(epoch from clock_timestamp() - b.probe_at) * 1000)::float8 as "probeMs",
  ${FOLLOW_UPS_SQL} as "followUps"
from holdfast.batches b where b.status <> 'ended' and b.status <> 'uploading' order by b.id`,
});

/** The batches that have not ended, oldest first. */
export function readOpenBatches(database: Database): Promise<JudgedBatch[]> {
  return sendQuery<JudgedBatch & Record<string, unknown>>(database.hot, OPEN_BATCHES.prepared([]));
}

export const PAUSE_BATCH = literal({
  name: 'pause-batch',
  purpose: 'Pause a batch for a guard, if no person has changed it since the decision.',
  locking: 'The batch.',
  text: `with paused as (
  update holdfast.batches b
  set status = 'paused', pause_reason = $3, pause_detail = $4, paused_at = clock_timestamp(), revision = b.revision + 1
  where b.id = $1 and b.revision = $2 and b.status = 'running'
  returning b.id
),
inserted_events as (
  ${insertEventsSql(`select null::uuid as session_id, null::uuid as turn_id, 'batch.paused' as type,
      json_build_object('batchId', id, 'reason', $3::text, 'detail', $4::text) as data, 0 as n from paused`)}
)
select id from paused`,
});

/** Pauses a batch for a guard; true when it did. */
export async function pauseBatch(
  database: Database,
  batch: Pick<JudgedBatch, 'id' | 'revision'>,
  { reason, detail }: { reason: PauseReason; detail: string },
): Promise<boolean> {
  const query = PAUSE_BATCH.prepared([batch.id, batch.revision, reason, detail]);
  return (await sendQuery(database.hot, query)).length > 0;
}

export const RESUME_FOR_GUARD = literal({
  name: 'resume-batch-for-guard',
  purpose: 'Resume a batch that a budget or its cap has paused, if no person has changed it since the decision.',
  locking: 'The batch.',
  text: `with resumed as (
  update holdfast.batches b
  set status = 'running', pause_reason = null, pause_detail = null, paused_at = null, revision = b.revision + 1
  where b.id = $1 and b.revision = $2 and b.status = 'paused' and b.pause_reason in ('budget', 'cost_cap')
  returning b.id
),
inserted_events as (
  ${insertEventsSql(`select null::uuid as session_id, null::uuid as turn_id, 'batch.resumed' as type,
      json_build_object('batchId', id) as data, 0 as n from resumed`)}
)
select id from resumed`,
});

/** Resumes a batch for which its budgets, or its cap, have room again. */
export async function resumeForGuard(database: Database, batch: Pick<JudgedBatch, 'id' | 'revision'>): Promise<void> {
  await sendQuery(database.hot, RESUME_FOR_GUARD.prepared([batch.id, batch.revision]));
}

export const PASS_PILOT = literal({
  name: 'pass-pilot',
  purpose: 'Let the items after the pilot be fed.',
  locking: 'The batch.',
  text: `update holdfast.batches b set pilot = null where b.id = $1 and b.revision = $2 and b.status = 'running'`,
});

/** Ends the pilot of a batch. */
export async function passPilot(database: Database, batch: Pick<JudgedBatch, 'id' | 'revision'>): Promise<void> {
  await sendQuery(database.hot, PASS_PILOT.prepared([batch.id, batch.revision]));
}

export const MEASURED_ROUNDS = literal({
  name: 'measured-rounds',
  purpose: 'Read what the items of a batch that went through the provider have cost.',
  text: `select b.model, b.cache, (
  select coalesce(json_agg(json_build_object('answered', h.answered, 'outputTokens', h.output_tokens,
    'promptTokens', h.input_tokens + h.cache_read_tokens + h.cache_write_tokens, 'costMicros', h.cost_micros, 'liveMicros', h.live_micros)), '[]')
  from holdfast.batch_hops h where h.batch_id = b.id and h.via = 'provider-batch'
) as rounds
from holdfast.batches b where b.id = $1`,
});

/** What the way of a batch is chosen from. `model`: as the provider names it; null: not known. */
export interface MeasuredBatch {
  model: string | null;
  cache: CacheSetting;
  rounds: MeasuredRound[];
}

/** Reads it; undefined: the batch was deleted. */
export async function readMeasuredRounds(database: Database, id: string): Promise<MeasuredBatch | undefined> {
  const query = MEASURED_ROUNDS.prepared([id]);
  const [row] = await sendQuery<MeasuredBatch & Record<string, unknown>>(database.hot, query);
  return row;
}

export const SET_WAY = literal({
  name: 'set-way',
  purpose:
    'Let the first items of a batch, up to the number $3, go through the provider, or store the way of the others ($4).',
  locking: 'The batch.',
  text: `update holdfast.batches b set probe_at = coalesce(b.probe_at, clock_timestamp()), probe_to = $3, choice = $4::json
where b.id = $1 and b.revision = $2 and b.via = 'auto' and b.choice is null and ($4::json is not null or b.probe_at is null)`,
});

/** Begins with the first items of a batch, or stores the choice that they have led to. What another scheduler has stored stays. */
export async function setWay(
  database: Database,
  batch: Pick<JudgedBatch, 'id' | 'revision'>,
  { probeTo = null, choice = null }: { probeTo?: number | null; choice?: Choice | null },
): Promise<void> {
  const choiceJson = choice === null ? null : JSON.stringify(choice);
  await sendQuery(database.hot, SET_WAY.prepared([batch.id, batch.revision, probeTo, choiceJson]));
}

/** The report of the end of a batch, to where it asks for it. */
export interface EndReport {
  id: string;
  sessionId: SessionId;
  target: { url: string };
  payload: object;
  expiresMs: number;
}

export const END_BATCH = literal({
  name: 'end-batch',
  purpose: 'End a batch of which every item has ended, with the delivery of its report. Answers a row when it did.',
  locking: 'The batch, then the session of its report.',
  text: `with ended as (
  update holdfast.batches b
  set status = 'ended', outcome = $3, ended_at = clock_timestamp(), pause_reason = null, pause_detail = null
  where b.id = $1 and b.revision = $2 and b.status <> 'ended'
    and b.in_flight = 0 and b.answered + b.silent + b.failed + b.cancelled + b.expired >= b.item_count
  returning b.id, b.outcome, b.revision
),
${removedCapsSql('ended')},
reporter as (
  update holdfast.sessions s set delivery_seq = s.delivery_seq + 1 from ended where s.id = $4::uuid
  returning s.id, s.delivery_seq
),
reported as (
  insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, expires_at)
  select $5::uuid, reporter.id, reporter.delivery_seq, 'webhook', $6::json, $7::json, clock_timestamp() + $8 * interval '1 millisecond'
  from reporter
  returning session_id, seq
),
inserted_events as (
  ${insertEventsSql(`select null::uuid as session_id, null::uuid as turn_id, 'batch.ended' as type,
      json_build_object('batchId', id, 'outcome', outcome) as data, 0 as n from ended`)}
)
select ended.id, reported.session_id, reported.seq from ended left join reported on true`,
});

/** Ends a batch; false when its counts have changed, or another scheduler has ended it. */
export async function endBatch(
  database: Database,
  batch: Pick<JudgedBatch, 'id' | 'revision'>,
  { outcome, report }: { outcome: BatchOutcome; report: EndReport | null },
): Promise<Committed<{ isEnded: boolean }>> {
  const rows = await sendQuery<{ session_id: SessionId | null; seq: string | null }>(
    database.hot,
    END_BATCH.prepared([
      batch.id,
      batch.revision,
      outcome,
      report?.sessionId ?? null,
      report?.id ?? null,
      report === null ? null : JSON.stringify(report.target),
      report === null ? null : JSON.stringify(report.payload),
      report?.expiresMs ?? 0,
    ]),
  );
  const [row] = rows;
  if (row === undefined) return { isEnded: false };
  if (row.session_id === null) return { isEnded: true };
  return { isEnded: true, after: { changed: [row.session_id], rings: [deliveryRing(row.session_id, row.seq)] } };
}
