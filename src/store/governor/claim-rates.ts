// What is left of the rate limits, shared by all workers. A worker claims what it needs for the next second, and returns what it has not
// used. What a worker holds that crashes is lost to that minute, and never given twice: each statement counts once, and an answer that is
// lost grants nothing.
import { RATE_UNITS, type Amounts, type RateUnit } from '../../core/governor/rate-limit.ts';
import type { LaneCounts } from '../../core/governor/share-calls.ts';
import type { Database } from '../database.ts';
import { literal } from '../statement.ts';

/** What a worker asks of one limit. Every unit of the limit has an entry in `capacity`. */
export interface RateAsk {
  limitId: string;
  capacity: Amounts;
  perSecond: Amounts;
  /** The requested amount; negative: it is returned. */
  wanted: Amounts;
  /** The amount that calls have used beyond what was claimed for them. */
  owed: Amounts;
  /** The remaining amount that the provider reported, if it did. */
  remaining: Amounts;
  /** The calls that are waiting in this worker. */
  demand: LaneCounts;
}

/** What a worker has claimed of one limit. */
export interface RateShare {
  claimed: Amounts;
  left: Amounts;
  /** The calls that are waiting in the other workers. */
  others: LaneCounts;
}

export const OPEN_RATE_WINDOWS = literal({
  name: 'open-rate-windows',
  purpose: 'Make the windows of limits that have none; they are full.',
  locking: 'The new rows, in the order of the limits and units.',
  text: `insert into holdfast.rate_windows (limit_id, unit, amount)
select * from unnest($1::text[], $2::text[], $3::float8[]) as w (limit_id, unit, capacity) order by 1, 2
on conflict do nothing`,
});

export const CLAIM_RATES = literal({
  name: 'claim-rates',
  purpose:
    'Refill the windows of limits, take from them or return to them, and note what this worker wants. Answers a row per window.',
  locking: 'The windows in the order of the limits and units; statements about the same limits follow each other.',
  text: `with asks as materialized (
  select * from unnest($1::text[], $2::text[], $3::float8[], $4::float8[], $5::float8[], $6::float8[], $7::float8[])
    as ask (limit_id, unit, capacity, per_second, wanted, owed, remaining)
),
locked as materialized (
  select asks.*, least(asks.capacity, asks.remaining,
    w.amount + greatest(0, extract(epoch from clock_timestamp() - w.refilled_at)) * asks.per_second) - asks.owed as filled
  from holdfast.rate_windows w join asks on asks.limit_id = w.limit_id and asks.unit = w.unit
  order by w.limit_id, w.unit for no key update of w
),
taken as (
  update holdfast.rate_windows w
  set granted = given.amount, amount = least(locked.capacity, locked.filled - given.amount), refilled_at = clock_timestamp()
  from locked cross join lateral (
    select case when locked.wanted <= 0 then locked.wanted else greatest(0, least(locked.wanted, locked.filled)) end as amount
  ) as given
  where w.limit_id = locked.limit_id and w.unit = locked.unit
  returning w.limit_id, w.unit, w.granted, w.amount
),
noted_demands as (
  insert into holdfast.rate_demands (limit_id, worker, main, subagent, cron, batch)
  select d.limit_id, $8, d.main, d.subagent, d.cron, d.batch
  from unnest($9::text[], $10::int[], $11::int[], $12::int[], $13::int[]) as d (limit_id, main, subagent, cron, batch) order by d.limit_id
  on conflict (limit_id, worker) do update set main = excluded.main, subagent = excluded.subagent, cron = excluded.cron,
    batch = excluded.batch, seen_at = clock_timestamp()
),
old_demands as (
  delete from holdfast.rate_demands d where d.limit_id = any ($9::text[]) and d.worker <> $8 and d.seen_at < now() - interval '1 minute'
)
select taken.limit_id, taken.unit, taken.granted, taken.amount, others.main, others.subagent, others.cron, others.batch
from taken cross join lateral (
  select coalesce(sum(d.main), 0)::int as main, coalesce(sum(d.subagent), 0)::int as subagent, coalesce(sum(d.cron), 0)::int as cron,
    coalesce(sum(d.batch), 0)::int as batch
  from holdfast.rate_demands d
  where d.limit_id = taken.limit_id and d.worker <> $8 and d.seen_at > clock_timestamp() - interval '3 seconds'
) as others`,
});

interface WindowRow extends LaneCounts {
  limit_id: string;
  unit: RateUnit;
  granted: number;
  amount: number;
}

/** Makes the windows of these limits, full, where they do not exist. */
export async function openRateWindows(database: Database, asks: readonly RateAsk[]): Promise<void> {
  const rows = asks.flatMap(({ limitId, capacity }) => unitsOf(capacity).map((unit) => ({ limitId, unit, capacity })));
  await database.hot.query(
    OPEN_RATE_WINDOWS.prepared([
      rows.map(({ limitId }) => limitId),
      rows.map(({ unit }) => unit),
      rows.map(({ unit, capacity }) => capacity[unit]),
    ]),
  );
}

/** Claims from limits, or returns. Not sent again after a fault: what it may have claimed is lost. */
export async function claimRates(
  database: Database,
  worker: string,
  asks: readonly RateAsk[],
): Promise<Map<string, RateShare>> {
  const rows = asks.flatMap((ask) => unitsOf(ask.capacity).map((unit) => ({ ask, unit })));
  const column = (pick: (ask: RateAsk) => Amounts, absent: number | null) =>
    rows.map(({ ask, unit }) => pick(ask)[unit] ?? absent);
  const result = await database.hot.query<WindowRow>(
    CLAIM_RATES.prepared([
      rows.map(({ ask }) => ask.limitId),
      rows.map(({ unit }) => unit),
      column(({ capacity }) => capacity, null),
      column(({ perSecond }) => perSecond, 0),
      column(({ wanted }) => wanted, 0),
      column(({ owed }) => owed, 0),
      column(({ remaining }) => remaining, null),
      worker,
      asks.map(({ limitId }) => limitId),
      ...(['main', 'subagent', 'cron', 'batch'] as const).map((lane) =>
        asks.map(({ demand }) => Math.ceil(demand[lane])),
      ),
    ]),
  );
  const shares = new Map<string, RateShare>();
  for (const { limit_id: limitId, unit, granted, amount, ...others } of result.rows) {
    const share = shares.get(limitId) ?? { claimed: {}, left: {}, others };
    share.claimed[unit] = granted;
    share.left[unit] = amount;
    shares.set(limitId, share);
  }
  return shares;
}

function unitsOf(amounts: Amounts): RateUnit[] {
  return RATE_UNITS.filter((unit) => amounts[unit] !== undefined);
}
