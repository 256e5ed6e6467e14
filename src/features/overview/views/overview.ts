// The figures of the overview, in one statement: what waits and runs by lane, what happened in each
// of the last 60 minutes, and what was spent today. Of each lane it names the session whose message
// waits longest, with the facts that say why. Minutes and money are those of the roll-ups and of
// the events that are not in them yet, as for `/v1/usage`; nothing counts a table that grows.
import type { Overview } from '../contract.ts';
import { WORKER_LOST_MS } from '../../../kernel/rules/why.ts';
import { isoSql } from '../../../kernel/sessions/session-facts.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import {
  marksOfEventsSql,
  SUMMED_SQL,
  UNREAD_EVENTS,
  USAGE_SUMS,
  usageOfEventsSql,
  WAITING_MAX,
} from '../../costs/store/usage-rows.ts';
import { describeWait, waitingCountSql, waitSql, type WaitRow } from '../../../kernel/views/why-sql.ts';
import type { Minute } from '../rules/figures.ts';
import type { LastingBlock, ModelWait } from '../rules/providers.ts';
import { idOfTimeSql, type ViewDatabase } from '../../../database/page.ts';
import { doorsSql } from './stats.ts';

type LaneFigures = Overview['lanes'][number];

export interface OverviewFacts {
  now: string;
  /** At most one more than `WAITING_MAX`. */
  waiting: number;
  parked: number;
  lanes: LaneFigures[];
  /** Oldest first: those of the day before, then those of the last hour. */
  minutes: Minute[];
  models: Overview['models'];
  blocks: LastingBlock[];
  waits: ModelWait[];
  processes: Overview['processes'];
  spentTodayMicros: number;
  isTodaySimulated: boolean;
  /** The 95th percentiles of the newest calls and turns of the last hour; null: there were none. */
  firstChunkP95Ms: number | null;
  turnP95Ms: number | null;
  /** The figures of the newest turns that had started by this time on the day before. */
  dayBefore: { firstChunkP95Ms: number | null; turnP95Ms: number | null };
}

export const MINUTES = 60;
const MODELS_MAX = 20;

/** Percentiles are of at most this many turns, and of their calls. */
const MEASURED_MAX = 1_000;

const SUMS = USAGE_SUMS.join(', ');
const p95Sql = (from: string, to: string): string =>
  `percentile_cont(0.95) within group (order by greatest(0, extract(epoch from ${to} - ${from}) * 1000))`;

/** Columns of `doorsSql`: the session, and when the message arrived that waits longest in it. */
export const OLDEST_COLUMNS_SQL = `, d.session_id, (
    select i.received_at from holdfast.inbox i where i.session_id = d.session_id and i.status = 'waiting' order by i.seq limit 1
  ) as oldest_at`;

/** The percentiles of the last hour (`=`), or of that of the day before (`<`). */
const measuredFields = (compare: '=' | '<'): string => `'turnP95Ms', (
    select round(${p95Sql('started_at', 'ended_at')}) from measured where from_at ${compare} (select at from first_minute)
  ), 'firstChunkP95Ms', (
    select round(${p95Sql('started_at', 'first_chunk_at')}) from first_chunks where from_at ${compare} (select at from first_minute)
  )`;

export const readOverviewRow = viewQuery({
  name: 'overview',
  purpose: 'Read the figures of the overview.',
  text: `with first_minute as materialized (
  select date_trunc('minute', clock_timestamp(), 'UTC') - interval '${MINUTES - 1} minutes' as at
),
-- The last hour, and the same of the day before.
hours as materialized (
  select at as from_at, at + interval '${MINUTES} minutes' as to_at from first_minute
  union all select at - interval '1 day', at - interval '1 day' + interval '${MINUTES} minutes' from first_minute
),
${doorsSql(OLDEST_COLUMNS_SQL)},
open_turns as materialized (
  select t.id, t.session_id, t.lane, t.status, t.park_code, t.park_by from holdfast.turns t where t.ended_at is null
),
oldest as materialized (
  select distinct on (lane) lane, session_id, oldest_at from (
    select lane, session_id, oldest_at from doors
    union all select t.lane, t.session_id, (
      select min(i.received_at) from holdfast.inbox i where i.turn_id = t.id and i.status = 'claimed'
    ) from open_turns t where t.status = 'parked'
  ) as waiting where oldest_at is not null order by lane, oldest_at, session_id
),
workers as materialized (
  select w.lanes from holdfast.workers w
  where w.draining_at is null and w.seen_at > clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond'
),
unread as materialized (
  ${usageOfEventsSql(UNREAD_EVENTS)}
),
used as materialized (
  select b.starts_at as at, 1 as sign, b.model, ${USAGE_SUMS.map((name) => `b.${name}`).join(', ')}, b.is_simulated
  from hours h join holdfast.usage_buckets b on b.size = 'minute' and b.starts_at >= h.from_at and b.starts_at < h.to_at
  union all select date_trunc('minute', at, 'UTC'), sign, model, ${SUMS}, is_simulated from unread where at >= (select at from first_minute)
),
minutes as (
  select at, ${SUMMED_SQL}, bool_or(is_simulated) as is_simulated from used group by at
),
marks as (
  select starts_at as at, sum(arrivals) as arrivals, max(longest_wait_ms) as longest_wait_ms from (
    select m.* from hours h join holdfast.minute_marks m on m.starts_at >= h.from_at and m.starts_at < h.to_at
    union all ${marksOfEventsSql(UNREAD_EVENTS)}
  ) as mark group by starts_at
),
measured as materialized (
  select t.id, t.started_at, t.ended_at, h.from_at from hours h cross join lateral (
    select * from holdfast.turns where id < ${idOfTimeSql('h.to_at')} order by id desc limit ${MEASURED_MAX}
  ) as t where t.ended_at >= h.from_at and t.ended_at < h.to_at
),
first_chunks as materialized (
  select m.ended_at, m.from_at, c.started_at, c.first_chunk_at from measured m
  cross join lateral (select * from holdfast.model_calls where turn_id = m.id and first_chunk_at is not null limit 100) as c
),
turn_minutes as (
  select date_trunc('minute', ended_at, 'UTC') as at, round(${p95Sql('started_at', 'ended_at')}) as ms from measured group by 1
),
first_chunk_minutes as (
  select date_trunc('minute', ended_at, 'UTC') as at, round(${p95Sql('started_at', 'first_chunk_at')}) as ms from first_chunks group by 1
),
today as (
  select sum(sign * cost_micros) as micros, bool_or(is_simulated) as is_simulated from (
    select 1 as sign, cost_micros, is_simulated from holdfast.usage_buckets
    where size = 'hour' and starts_at >= date_trunc('day', clock_timestamp(), 'UTC')
    union all select sign, cost_micros, is_simulated from unread where at >= date_trunc('day', clock_timestamp(), 'UTC')
  ) as spent
)
select json_build_object(
  'now', ${isoSql('clock_timestamp()')},
  'waiting', ${waitingCountSql(WAITING_MAX + 1)},
  'parked', (select count(*) from open_turns where status = 'parked'),
  'lanes', (select json_agg(json_build_object('lane', lane,
      'depth', (select count(*) from doors where doors.lane = lanes.lane and not is_held and is_parked is not true),
      'parked', (select count(*) from open_turns where open_turns.lane = lanes.lane and status = 'parked'),
      'oldestAt', (select ${isoSql('oldest_at')} from oldest where oldest.lane = lanes.lane),
      'oldest', (select json_build_object('sessionKey', (select s.key from holdfast.sessions s where s.id = oldest.session_id),
        'wait', ${waitSql('oldest.session_id', 'oldest.oldest_at')}) from oldest where oldest.lane = lanes.lane),
      'running', (select count(*) from open_turns where open_turns.lane = lanes.lane and status = 'running'),
      'slots', (select coalesce(sum((w.lanes -> lanes.lane ->> 'slots')::int), 0) from workers w)) order by n)
    from unnest(array['main', 'subagent', 'cron', 'batch']) with ordinality as lanes (lane, n)),
  'minutes', (select json_agg(json_build_object('startsAt', ${isoSql('m.at')},
      'startsAtMs', (extract(epoch from m.at) * 1000)::float8, 'arrivals', coalesce(arrivals, 0), 'longestWaitMs', coalesce(longest_wait_ms, 0),
      'turns', coalesce(turns, 0), 'failedTurns', coalesce(failed_turns, 0), 'inputTokens', coalesce(input_tokens, 0),
      'outputTokens', coalesce(output_tokens, 0), 'cacheReadTokens', coalesce(cache_read_tokens, 0),
      'cacheWriteTokens', coalesce(cache_write_tokens, 0), 'costMicros', coalesce(cost_micros, 0),
      'isSimulated', coalesce(is_simulated, false), 'waiting', case when sample.waiting is not null then least(sample.waiting, ${WAITING_MAX}) end, 'running', sample.running,
      'turnP95Ms', turn_minutes.ms, 'firstChunkP95Ms', first_chunk_minutes.ms) order by m.at)
    from hours h cross join lateral generate_series(h.from_at, h.to_at - interval '1 minute', interval '1 minute') as m (at)
    left join minutes on minutes.at = m.at left join marks on marks.at = m.at
    left join holdfast.minute_samples sample on sample.starts_at = m.at
    left join turn_minutes on turn_minutes.at = m.at left join first_chunk_minutes on first_chunk_minutes.at = m.at),
  'spentTodayMicros', coalesce((select micros from today), 0), 'isTodaySimulated', coalesce((select is_simulated from today), false),
  'processes', (select json_build_object('running', count(*) filter (where is_seen and draining_at is null),
      'draining', count(*) filter (where is_seen and draining_at is not null), 'lost', count(*) filter (where not is_seen))
    from (select w.draining_at, w.seen_at > clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond' as is_seen from holdfast.workers w) as seen),
  'models', (select coalesce(json_agg(json_build_object('model', model, 'calls', calls, 'failures', failures, 'blockedUntil', ${isoSql('until')})
      order by calls desc, model), '[]') from (
    select coalesce(u.model, b.model) as model, coalesce(u.calls, 0) as calls, coalesce(u.failures, 0) as failures, b.until
    from (
      select model, sum(sign * calls)::bigint as calls, sum(sign * failures)::bigint as failures from used
      where at >= (select at from first_minute) group by model having sum(sign * calls) > 0
    ) as u full join (
      select model, max(until) as until from holdfast.model_blocks where until > clock_timestamp() and lifted_at is null group by model
    ) as b on b.model = u.model order by calls desc, model limit ${MODELS_MAX}
  ) as shown),
  'blocks', (select coalesce(json_agg(json_build_object('model', model, 'isAway', probe_at is not null,
      'until', ${isoSql('coalesce(probe_at, until)')}, 'text', detail) order by until desc), '[]') from (
    select * from holdfast.model_blocks where until > clock_timestamp() and lifted_at is null order by until desc limit ${MODELS_MAX}
  ) as lasting),
  'waits', (select coalesce(json_agg(json_build_object('by', park_by, 'code', park_code, 'count', turns, 'until', ${isoSql('until')})), '[]') from (
    select t.park_by, t.park_code, count(*) as turns, min(d.due_at) as until
    from open_turns t left join holdfast.doorbells d on d.session_id = t.session_id
    where t.status = 'parked' and t.park_code in ('rate_limited', 'retry_wait', 'provider_batch')
    group by t.park_by, t.park_code order by turns desc limit ${MODELS_MAX}
  ) as held),
  ${measuredFields('=')}, 'dayBefore', json_build_object(${measuredFields('<')})
) as facts`,
  // A select without a table in `from` has one row.
  answer: ([row]: { facts: OverviewRow }[]) => row!.facts,
});

/** Reads them. */
export async function readOverview(db: ViewDatabase): Promise<OverviewFacts> {
  const { lanes, ...facts } = await readOverviewRow(db);
  return {
    ...facts,
    lanes: lanes.map(({ oldest, ...lane }) => ({
      ...lane,
      oldest: oldest && { sessionKey: oldest.sessionKey, why: describeWait(db, oldest.wait) },
    })),
  };
}

interface OverviewRow extends Omit<OverviewFacts, 'lanes'> {
  lanes: (Omit<LaneFigures, 'oldest'> & { oldest: { sessionKey: string; wait: WaitRow } | null })[];
}
