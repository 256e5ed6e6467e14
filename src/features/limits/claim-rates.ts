// What is left of the rate limits, shared by all workers. A worker claims what it needs for the
// next second, and returns what it has not used. What a worker holds that crashes is lost to that
// minute, and never claimed twice: each statement counts once, and an answer that is lost claims
// nothing.
import type { RateUnit } from '../../core/rate-limit.ts';
import type { LaneCounts } from './rules/share-calls.ts';
import { toRecords, selectRecordsSql, type SqlColumns } from '../../database/statement.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** What a worker asks of the window of a limit. */
export interface RateAsk {
  limitId: string;
  unit: RateUnit;
  capacity: number;
  perSecond: number;
  /** The requested amount; negative: it is returned. */
  wanted: number;
  /** The amount that calls have used beyond what was claimed for them. */
  owed: number;
  /** The remaining amount that the provider reported; null: it has not. */
  remaining: number | null;
  /** The calls that are waiting in this worker. */
  demand: LaneCounts;
}

/** What a worker has claimed of a window, and how many calls wait in the other workers. */
export interface RateShare extends LaneCounts {
  limitId: string;
  unit: RateUnit;
  claimed: number;
  left: number;
}

const COLUMNS: SqlColumns<RateAsk> = {
  limit_id: ['text', ({ limitId }) => limitId],
  unit: ['text', ({ unit }) => unit],
  capacity: ['float8', ({ capacity }) => capacity],
  per_second: ['float8', ({ perSecond }) => perSecond],
  wanted: ['float8', ({ wanted }) => wanted],
  owed: ['float8', ({ owed }) => owed],
  remaining: ['float8', ({ remaining }) => remaining],
  main: ['int', ({ demand }) => Math.ceil(demand.main)],
  subagent: ['int', ({ demand }) => Math.ceil(demand.subagent)],
  cron: ['int', ({ demand }) => Math.ceil(demand.cron)],
  batch: ['int', ({ demand }) => Math.ceil(demand.batch)],
};

export const openRateWindows = literalQuery({
  name: 'open-rate-windows',
  purpose: 'Make the windows of limits that have none; they are full.',
  locking: 'The new rows, in the order of the limits and units.',
  text: `insert into holdfast.rate_windows (limit_id, unit, amount)
select limit_id, unit, capacity from (${selectRecordsSql('$1', COLUMNS)}) as asks order by 1, 2
on conflict do nothing`,
  values: (asks: readonly RateAsk[]) => [toRecords(asks, COLUMNS)],
});

export const claimRates = literalQuery({
  name: 'claim-rates',
  purpose:
    'Refill the windows of limits, take from them or return to them, and note what this worker wants. Answers a row per window.',
  locking: 'The windows in the order of the limits and units; statements about the same limits follow each other.',
  // What it may have claimed before a fault is lost.
  retryMs: 0,
  text: `with asks as materialized (${selectRecordsSql('$2', COLUMNS)}),
locked as materialized (
  select asks.*, least(asks.capacity, asks.remaining,
    w.amount + greatest(0, extract(epoch from clock_timestamp() - w.refilled_at)) * asks.per_second) - asks.owed as filled
  from holdfast.rate_windows w join asks on asks.limit_id = w.limit_id and asks.unit = w.unit
  order by w.limit_id, w.unit for no key update of w
),
taken as (
  update holdfast.rate_windows w
  set granted = claim.amount, amount = least(locked.capacity, locked.filled - claim.amount), refilled_at = clock_timestamp()
  from locked cross join lateral (
    select case when locked.wanted <= 0 then locked.wanted else greatest(0, least(locked.wanted, locked.filled)) end as amount
  ) as claim
  where w.limit_id = locked.limit_id and w.unit = locked.unit
  returning w.limit_id, w.unit, w.granted, w.amount
),
noted_demands as (
  insert into holdfast.rate_demands (limit_id, worker, main, subagent, cron, batch)
  select limit_id, $1, max(main), max(subagent), max(cron), max(batch) from asks group by limit_id order by limit_id
  on conflict (limit_id, worker) do update set main = excluded.main, subagent = excluded.subagent, cron = excluded.cron,
    batch = excluded.batch, seen_at = clock_timestamp()
),
old_demands as (
  delete from holdfast.rate_demands d where d.limit_id in (select limit_id from asks) and d.worker <> $1 and d.seen_at < now() - interval '1 minute'
)
select taken.limit_id as "limitId", taken.unit, taken.granted as claimed, taken.amount as left, others.main, others.subagent, others.cron, others.batch
from taken cross join lateral (
  select coalesce(sum(d.main), 0)::int as main, coalesce(sum(d.subagent), 0)::int as subagent, coalesce(sum(d.cron), 0)::int as cron,
    coalesce(sum(d.batch), 0)::int as batch
  from holdfast.rate_demands d
  where d.limit_id = taken.limit_id and d.worker <> $1 and d.seen_at > clock_timestamp() - interval '3 seconds'
) as others`,
  values: (worker: string, asks: readonly RateAsk[]) => [worker, toRecords(asks, COLUMNS)],
  answer: (shares: RateShare[]) => shares,
});
