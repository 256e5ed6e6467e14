// What the schedulers decide about open batches: the end, the way, the end of a pilot. A decision
// is made from counts that were read, and its statement applies it only if they still allow it.
import { channelOfTargetSql } from '../../../core/channel-address.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { BatchOutcome } from '../rules/batch.ts';
import type { BatchState } from '../rules/judge-batch.ts';
import type { SessionId } from '../../../core/ids.ts';
import type { CacheSetting } from '../../../core/cache-markers.ts';
import type { Choice, MeasuredRound } from '../rules/choose-way.ts';
import { BY_REVISION, type Judged } from './control.ts';
import { isCapFreedSql, isCapReachedSql, removedCapsSql } from './batch-cap.ts';
import { FOLLOW_UPS_SQL } from '../../../kernel/inbox/charged-inputs.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { deliveryRing } from '../../../kernel/queue/rings.ts';

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

export const readOpenBatches = literalQuery({
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
  answer: (rows: JudgedBatch[]) => rows,
});

/**
 * SQL of whether a round may change a batch. One that is paused with nothing in flight changes only
 * when a guard lets it continue, its deadline has passed or it ends; a charged input can be of a
 * batch that has ended.
 */
export const HAS_OPEN_WORK_SQL = `exists (select from holdfast.batches b where b.status <> 'ended' and b.status <> 'uploading' and (
  b.status <> 'paused' or b.in_flight > 0 or b.pause_reason in ('budget', 'cost_cap') or b.deadline_at <= statement_timestamp()
  or b.answered + b.silent + b.failed + b.cancelled + b.expired >= b.item_count))
or exists (select from holdfast.charged_inputs c where c.batch_id is not null and not c.is_counted)`;

export const passPilot = literalQuery({
  name: 'pass-pilot',
  purpose: 'Let the items after the pilot be fed.',
  locking: 'The batch.',
  text: `update holdfast.batches b set pilot = null where ${BY_REVISION} and b.status = 'running'`,
  values: (batch: Judged) => batch,
});

/** What the way of a batch is chosen from. `model`: as the provider names it; null: not known. */
export interface MeasuredBatch {
  model: string | null;
  cache: CacheSetting;
  rounds: MeasuredRound[];
}

/** Reads it; undefined: the batch was deleted. */
export const readMeasuredRounds = literalQuery({
  name: 'measured-rounds',
  purpose: 'Read what the items of a batch that went through the provider have cost.',
  text: `select b.model, b.cache, (
  select coalesce(json_agg(json_build_object('answered', h.answered, 'outputTokens', h.output_tokens,
    'promptTokens', h.input_tokens + h.cache_read_tokens + h.cache_write_tokens, 'costMicros', h.cost_micros, 'liveMicros', h.live_micros)), '[]')
  from holdfast.batch_hops h where h.batch_id = b.id and h.via = 'provider-batch'
) as rounds
from holdfast.batches b where b.id = $1`,
  values: (id: string) => [id],
  answer: ([row]: MeasuredBatch[]) => row,
});

/**
 * Begins with the first items of a batch, or stores the choice that they have led to. What another
 * scheduler has stored stays.
 */
export const setWay = literalQuery({
  name: 'set-way',
  purpose: 'Let the first items of a batch, up to a number, go through the provider, or store the way of the others.',
  locking: 'The batch.',
  text: `update holdfast.batches b set probe_at = coalesce(b.probe_at, clock_timestamp()), probe_to = $probeTo, choice = $choice::json
where ${BY_REVISION} and b.via = 'auto' and b.choice is null and ($choice::json is not null or b.probe_at is null)`,
  values: ({ id, revision }: Judged, way: { probeTo?: number; choice?: Choice }) => ({ id, revision, ...way }),
});

/** The report of the end of a batch, to where it asks for it. */
export interface EndReport {
  id: string;
  sessionId: SessionId;
  target: { url: string };
  payload: object;
  expiresMs: number;
}

/** Ends a batch; false when its counts have changed, or another scheduler has ended it. */
export const endBatch = literalQuery({
  name: 'end-batch',
  purpose: 'End a batch of which every item has ended, with the delivery of its report. Answers a row when it did.',
  locking: 'The batch, then the session of its report.',
  text: `with ended as (
  update holdfast.batches b
  set status = 'ended', outcome = $outcome, ended_at = clock_timestamp(), pause_reason = null, pause_detail = null
  where ${BY_REVISION} and b.status <> 'ended'
    and b.in_flight = 0 and b.answered + b.silent + b.failed + b.cancelled + b.expired >= b.item_count
    and ${FOLLOW_UPS_SQL} = 0
  returning b.id, b.outcome, b.revision
),
${removedCapsSql('ended')},
reporter as (
  update holdfast.sessions s set delivery_seq = s.delivery_seq + 1 from ended where s.id = $sessionId::uuid
  returning s.id, s.delivery_seq
),
reported as (
  insert into holdfast.deliveries (id, session_id, seq, channel, target, payload, expires_at)
  select $reportId::uuid, reporter.id, reporter.delivery_seq, ${channelOfTargetSql('$target::json')}, $target::json, $payload::json,
    clock_timestamp() + $expiresMs::float8 * interval '1 millisecond'
  from reporter
  returning session_id, seq
),
inserted_events as (
  ${insertServiceEventsSql('ended', 'batch.ended', `'batchId', id, 'outcome', outcome`)}
)
select ended.id, reported.session_id, reported.seq from ended left join reported on true`,
  values: ({ id, revision }: Judged, { outcome, report }: { outcome: BatchOutcome; report: EndReport | null }) => ({
    ...report,
    reportId: report?.id,
    id,
    revision,
    outcome,
  }),
  answer: ([row]: { session_id: SessionId | null; seq: string | null }[]): Committed<{ isEnded: boolean }> => {
    if (row === undefined) return { isEnded: false };
    if (row.session_id === null) return { isEnded: true };
    return { isEnded: true, after: { changed: [row.session_id], rings: [deliveryRing(row.session_id, row.seq)] } };
  },
});
