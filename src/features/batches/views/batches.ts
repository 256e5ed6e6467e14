// Batches as the API shows them. Reads only. The counts of a batch are stored with it; only the
// items in flight are read one by one.
import type { BatchView } from '../contract.ts';
import type { MessageVia } from '../../../core/inbound.ts';
import { countEnded, type EndCounts } from '../rules/judge-batch.ts';
import { toDollars } from '../../../core/prices.ts';
import { expectedCostMicros } from '../rules/estimate.ts';
import type { Choice } from '../rules/choose-way.ts';
import {
  endByHops,
  endBySlots,
  MINUTES_READ,
  measureRate,
  type EndsOfMinute,
  type HopTimes,
} from '../rules/progress.ts';
import { dollarsSql, tokenUsageSql } from '../../../kernel/sessions/cost-sql.ts';
import { FOLLOW_UPS_SQL } from '../../../kernel/inbox/charged-inputs.ts';
import { HIT_RATE_SQL } from '../../provider-batches/store/submissions.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import type { Scope } from '../../../core/scope.ts';
import { listOf } from '../../../database/list-of.ts';
import { LIVE_SQL } from '../../../kernel/views/why-sql.ts';

const MICROS = 1_000_000;

/** The groups of errors that are shown, largest first, and how much of a message. */
const ERRORS_MAX = 20;
const SAMPLE_CHARS_MAX = 500;

/** The newest batches of the same model, which show what the provider charges beside live calls. */
const ALIKE_MAX = 10;

const BATCH_COLUMNS = `b.id, b.name, b.status, b.outcome, b.pause_reason as "pauseReason", b.pause_detail as "pauseDetail", b.via,
  b.agent_id as "agentId", b.defaults -> 'options' -> 'tools' as tools,
  coalesce(b.defaults -> 'options' -> 'tags', '{}') as tags, b.concurrency, (
    select coalesce(sum((w.lanes -> 'batch' ->> 'slots')::int), 0)::int from holdfast.workers w where ${LIVE_SQL}
  ) as slots, b.weight, b.pilot, b.max_failure_percent as "maxFailurePercent",
  ${isoSql('b.deadline_at')} as "deadlineAt", b.item_count as total, b.in_flight as "inFlight",
  json_build_object('answered', b.answered, 'silent', b.silent, 'failed', b.failed, 'cancelled', b.cancelled, 'expired', b.expired) as ends,
  case when b.status = 'ended' then 0 else ${FOLLOW_UPS_SQL} end as "followUps", (extract(epoch from coalesce(b.mark_at, b.created_at)) * 1000)::float8 as "sinceMs",
  case when b.status = 'running' then (
    select json_agg(json_build_object('startsAtMs', (extract(epoch from m.starts_at) * 1000)::float8, 'ended', m.ended, 'busyMs', m.busy_ms))
    from (select * from holdfast.batch_minutes where batch_id = b.id order by starts_at desc limit ${MINUTES_READ}) as m
  ) end as minutes,
  ${tokenUsageSql('b')} as usage, b.cost_micros::float8 as "costMicros", b.unpriced_calls as "unpricedCalls", b.is_simulated as simulated,
  coalesce((select sum(w.reserved_micros) from holdfast.budget_windows w where w.budget_id = b.id), 0)::float8 as "reservedMicros", b.max_cost_micros::float8 as "maxCostMicros", b.created_by as "createdBy",
  ${isoSql('b.created_at')} as "createdAt", ${isoSql('b.started_at')} as "startedAt", ${isoSql('b.ended_at')} as "endedAt",
  (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs",
  case when b.in_flight > 0 then (
    select json_build_object('running', count(*) filter (where x.status <> 'waiting' and coalesce(t.status, '') <> 'parked'),
      'parked', count(*) filter (where x.status <> 'waiting' and t.status = 'parked'),
      'busyMs', coalesce(sum(extract(epoch from clock_timestamp() - t.started_at) * 1000), 0)::float8)
    from holdfast.batch_items i join holdfast.inbox x on x.id = i.message_id left join holdfast.turns t on t.id = x.turn_id
    where i.batch_id = b.id and i.status = 'fed'
  ) end as flight,
  case when b.failed + b.expired > 0 then (
    select json_agg(json_build_object('code', code, 'count', count, 'sample', sample) order by count desc, code) from (
      select i.error_code as code, count(*)::int as count,
        (select left(coalesce(s.error ->> 'message', ''), ${SAMPLE_CHARS_MAX}) from holdfast.batch_items s
          where s.batch_id = b.id and s.n = min(i.n)) as sample
      from holdfast.batch_items i where i.batch_id = b.id and i.error_code is not null group by i.error_code
      order by 2 desc limit ${ERRORS_MAX}
    ) as groups
  ) end as errors,
  (select json_agg(json_build_object('n', n, 'via', via, 'reason', reason, 'requests', requests, 'submittedAt', ${isoSql('submitted_at')},
      'endedAt', ${isoSql('ended_at')}, 'cacheHitRate', ${HIT_RATE_SQL}, 'costUsd', ${dollarsSql('cost_micros')},
      'costMicros', cost_micros, 'liveMicros', live_micros, 'wastedMicros', wasted_micros, 'providerBatchIds', provider_batch_ids,
      'answered', answered, 'lastSubmittedAtMs', sent.last_ms, 'shortestMs', sent.shortest_ms, 'longestMs', sent.longest_ms)
      order by n, via) from holdfast.batch_hops h
    -- Its submissions; none for a batch that does not run.
    cross join lateral (
      select (extract(epoch from max(p.submit_started_at)) * 1000)::float8 as last_ms,
        (extract(epoch from min(p.ended_at - p.submit_started_at) filter (where p.status in ('ended', 'read'))) * 1000)::float8 as shortest_ms,
        (extract(epoch from max(p.ended_at - p.submit_started_at) filter (where p.status in ('ended', 'read'))) * 1000)::float8 as longest_ms
      from holdfast.provider_batches p where b.status = 'running' and p.provider_id = any (h.provider_batch_ids)
    ) as sent
    where h.batch_id = b.id) as hops,
  b.choice, case when b.status in ('running', 'paused') and b.via <> 'live' then (
    select sum(h.cost_micros)::float8 / nullif(sum(h.live_micros), 0)
    from (select o.id from holdfast.batches o where o.model = b.model order by o.id desc limit ${ALIKE_MAX}) as o
    join holdfast.batch_hops h on h.batch_id = o.id and h.via = 'provider-batch' and h.live_micros > 0
  ) end as "batchShare"`;

export const batches = listOf<{ status?: string | undefined; scope: Scope }, BatchRow, BatchView>({
  name: 'list-batches',
  purpose: 'Read batches, newest first.',
  text: `select ${BATCH_COLUMNS}
from holdfast.batches b`,
  filters: { status: 'b.status = $status' },
  seenBy: 'b.owner',
  order: 'b.id desc',
  show: toBatch,
});

/** What `toBatch` makes of the other columns. */
type Derived =
  | 'counts'
  | 'ratePerMinute'
  | 'eta'
  | 'errors'
  | 'hops'
  | 'cacheHitRate'
  | 'savedPercent'
  | Extract<keyof BatchView, `${string}Usd`>;

type BatchRow = Omit<BatchView, Derived> & {
  total: number;
  inFlight: number;
  ends: EndCounts;
  reservedMicros: number;
  maxCostMicros: number | null;
  nowMs: number;
  /** When it started, or was last resumed. */
  sinceMs: number;
  /** Null: none, or it does not run. */
  minutes: EndsOfMinute[] | null;
  flight: { running: number; parked: number; busyMs: number } | null;
  errors: BatchView['errors'] | null;
  hops: HopRow[] | null;
  /** The choice of `via: auto`; null: not chosen. */
  choice: Choice | null;
  /** See `SpentBatch`. */
  batchShare: number | null;
};

type BatchHop = BatchView['hops'][number];
type HopRow = BatchHop & HopTimes & { costMicros: number | null; liveMicros: number | null; wastedMicros: number };

function toBatch(row: BatchRow): BatchView {
  const { total, inFlight, ends, flight, nowMs, sinceMs, minutes, choice, batchShare, ...rest } = row;
  const { reservedMicros, maxCostMicros, errors, hops: hopRows, ...shown } = rest;
  const hops = hopRows ?? [];
  const { running, parked, busyMs } = flight ?? { running: 0, parked: 0, busyMs: 0 };
  const ended = countEnded(ends);
  // The counts of the batch and of its items are from the same snapshot; an item that has just
  // ended still counts as in flight.
  const waiting = Math.max(0, inFlight - running - parked);
  const pending = total - inFlight - ended;
  const left = { waiting: pending + waiting, started: running + parked, busyMs };
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = shown.usage;
  const promptTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  const live = hops.filter(({ via }) => via === 'live');
  const recent = shown.status === 'running' ? { minutes: minutes ?? [], sinceMs, nowMs } : null;
  return {
    ...shown,
    counts: { total, pending, waiting, running, parked, ...ends },
    ratePerMinute: recent === null ? null : measureRate(recent),
    eta: recent === null ? null : computeEta({ via: shown.via, hops, pending }, { ...left, recent }),
    costUsd: toDollars(shown.costMicros),
    reservedUsd: reservedMicros / MICROS,
    wastedUsd: hops.reduce((sum, { wastedMicros }) => sum + wastedMicros, 0) / MICROS,
    maxCostUsd: toDollars(maxCostMicros),
    expectedCostUsd: toDollars(
      expectedCostMicros({
        way: shown.via === 'auto' ? (choice?.via ?? 'provider-batch') : shown.via,
        total,
        ended,
        costMicros: shown.costMicros,
        live: { items: live[0]?.requests ?? 0, costMicros: live.reduce((sum, hop) => sum + (hop.costMicros ?? 0), 0) },
        batchShare,
      }),
    ),
    ...computeSaving(shown, hops),
    cacheHitRate: promptTokens === 0 ? null : cacheReadTokens / promptTokens,
    hops: hops.map(toHop),
    errors: errors ?? [],
  };
}

function toHop({ n, via, reason, requests, submittedAt, endedAt, cacheHitRate, costUsd, ...row }: HopRow): BatchHop {
  const { providerBatchIds } = row;
  return { n, via, reason, requests, submittedAt, endedAt, cacheHitRate, costUsd, providerBatchIds };
}

/**
 * The cost of the same conversations with live calls, and the saving; negative when the batch was
 * more expensive.
 */
function computeSaving(
  { via, costMicros }: Pick<BatchRow, 'via' | 'costMicros'>,
  hops: readonly HopRow[],
): Pick<BatchView, 'liveCostUsd' | 'savedPercent'> {
  if (via === 'live' && hops.length === 0) return { liveCostUsd: toDollars(costMicros), savedPercent: 0 };
  const cost = sumOrNull(hops.map((hop) => hop.costMicros));
  const live = sumOrNull(hops.map((hop) => hop.liveMicros));
  if (cost === null || live === null || live === 0) return { liveCostUsd: toDollars(live), savedPercent: null };
  return { liveCostUsd: live / MICROS, savedPercent: Math.round((1 - cost / live) * 1000) / 10 };
}

/** Null when there is nothing, or something is not known. */
function sumOrNull(micros: readonly (number | null)[]): number | null {
  return micros.length === 0 ? null : micros.reduce((sum, one) => (sum === null || one === null ? null : sum + one), 0);
}

/**
 * A batch with rounds through the provider ends round by round, once all its items take part; of
 * any other, and of one that makes live calls by now, items end one by one.
 */
function computeEta(
  { via, hops, pending }: { via: MessageVia; hops: readonly HopRow[]; pending: number },
  progress: Parameters<typeof endBySlots>[0],
): BatchView['eta'] {
  const rounds = hops.filter((hop) => hop.via === 'provider-batch');
  const end =
    via === 'live' || rounds.length === 0
      ? endBySlots(progress)
      : endByHops(rounds, { pending, nowMs: progress.recent.nowMs });
  return end === null ? null : { from: new Date(end.fromMs).toISOString(), to: new Date(end.toMs).toISOString() };
}
