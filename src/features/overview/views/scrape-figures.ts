// What a scrape of the metrics asks beside the counts of `GET /v1/stats`: from the roll-ups and
// from what is open, so it costs the same however much there is.
import { HELD_SINCE_SQL, OLDEST_TRANSACTION_SQL, type OldestTransaction } from '../../../database/event-ids.ts';
import { WORKER_LOST_MS } from '../../../kernel/rules/why.ts';
import { viewQuery } from '../../../database/literal-query.ts';
import { describeWait, waitSql, type WaitRow } from '../../../kernel/views/why-sql.ts';
import { countChangesSql, UNPRICED_CALLS, UNREAD_EVENTS } from '../../costs/store/usage-rows.ts';
import type { ViewDatabase } from '../../../database/page.ts';
import { OLDEST_COLUMNS_SQL } from './overview.ts';
import { doorsSql } from './stats.ts';
import { MCP_ASKED_MS } from '../rules/service-health.ts';
import { HEALTH_FACTS_SQL } from './service-health.ts';

export interface ScrapeFigures {
  /** Calls whose cost is not known, by model. */
  unpricedCalls: Record<string, number>;
  /** Batches that have not ended, by status. */
  batches: Record<string, number>;
  /** Their items, by status. */
  batchItems: Record<string, number>;
  /** Age of the oldest of them in milliseconds; null: there are none. */
  batchOldestMs: number | null;
  /** Submissions to the provider whose results were not read, by status. */
  providerBatches: Record<string, number>;
  providerBatchOldestMs: number | null;
  /** Age of the oldest delivery that was not settled; null: there is none. */
  outboxOldestMs: number | null;
  /** How long the cron that is most overdue has been due; null: none is. */
  cronOverdueMs: number | null;
  /** Processes that run, by role. */
  workers: Record<string, number>;
  /** The part of the prompts of the last hour that came from the provider's cache, by tier. */
  cacheHitRatio: Record<string, number>;
  /**
   * By kind of old rows: how many were deleted, and the age over which all were that nothing needs;
   * null: no pass was complete.
   */
  retention: Record<string, { deleted: number; reachMs: number | null }>;
  /** Turns that are parked, by the code of their reason. */
  parkedTurns: Record<string, number>;
  /**
   * Of each lane, the messages that wait longest: the one that no turn has claimed, and one for
   * each reason of parked turns.
   */
  oldestWaits: { lane: string; code: string; ageMs: number }[];
  /** What keeps the service from working, by kind. */
  troubles: Record<string, number>;
  /** Whether the MCP servers that workers ask answer, by name. */
  mcpServers: Record<string, 'connected' | 'lost'>;
  /** The transaction that holds back live events; null: none does. */
  oldestTransaction: OldestTransaction | null;
  /**
   * Age of the oldest event that readers do not see yet because of it, in milliseconds; 0: they see
   * all.
   */
  heldBackMs: number;
  /**
   * Age of the oldest event that the rounds of the search have not read; null: they have read all.
   */
  searchLagMs: number | null;
}

const sinceMsSql = (at: string): string => `round(extract(epoch from clock_timestamp() - ${at}) * 1000)::float8`;

const ageMsSql = (rows: string): string => `(select greatest(${sinceMsSql('min(created_at)')}, 0) from ${rows})`;

const countedSql = (rows: string): string =>
  `(select coalesce(json_object_agg(status, count), '{}') from (select status, count(*) as count from ${rows} group by status) as counted)`;

const ITEM_STATES = ['answered', 'silent', 'failed', 'cancelled', 'expired'] as const;

export const readScrapeRow = viewQuery({
  name: 'scrape-figures',
  purpose:
    'Read what the metrics say of the service as a whole: what is open, how old it is, which processes run, and what keeps them from working.',
  text: `with ${doorsSql(OLDEST_COLUMNS_SQL)},
unclaimed as materialized (
  select distinct on (lane) lane, session_id, oldest_at from doors where oldest_at is not null order by lane, oldest_at, session_id
),
parked as materialized (
  select t.lane, t.park_code, (select min(i.received_at) from holdfast.inbox i where i.turn_id = t.id and i.status = 'claimed') as oldest_at
  from holdfast.turns t where t.ended_at is null and t.status = 'parked'
),
open_batches as materialized (
  select b.status, b.created_at, b.item_count, b.in_flight, ${ITEM_STATES.map((state) => `b.${state}`).join(', ')}
  from holdfast.batches b where b.status <> 'ended'
),
open_submissions as materialized (
  select p.status, p.created_at from holdfast.provider_batches p
  where p.status in ('open', 'submitting', 'unknown', 'submitted', 'canceling', 'ended')
),
unpriced as materialized (
  select status as model, sum(count)::bigint as count from (
    select status, count from holdfast.row_counts where subject = '${UNPRICED_CALLS}'
    union all select status, change from (${countChangesSql(UNREAD_EVENTS)}) as changes where subject = '${UNPRICED_CALLS}'
  ) as counts
  -- Before the roll-ups have begun, all events are unread.
  where exists (select from holdfast.roll_up_cursor c where c.singleton and c.counted_at is not null)
  group by status
),
running_roles as materialized (
  select role as status from holdfast.workers w cross join unnest(w.roles) as role
  where w.seen_at >= clock_timestamp() - ${WORKER_LOST_MS} * interval '1 millisecond'
),
open_deliveries as materialized (
  select d.created_at from holdfast.deliveries d where d.status in ('pending', 'sending')
),
cached as materialized (
  select u.tier, sum(u.cache_read_tokens)::float8 / nullif(sum(u.input_tokens + u.cache_read_tokens + u.cache_write_tokens), 0) as ratio
  from holdfast.usage_buckets u where u.size = 'minute' and u.starts_at > clock_timestamp() - interval '1 hour' group by u.tier
)
select (select coalesce(json_object_agg(model, count), '{}') from unpriced) as "unpricedCalls",
  ${countedSql('open_batches')} as batches,
  (select json_build_object('pending', coalesce(sum(item_count - in_flight - ${ITEM_STATES.join(' - ')}), 0), 'inFlight', coalesce(sum(in_flight), 0),
    ${ITEM_STATES.map((state) => `'${state}', coalesce(sum(${state}), 0)`).join(', ')}) from open_batches) as "batchItems",
  ${ageMsSql('open_batches')} as "batchOldestMs",
  ${countedSql('open_submissions')} as "providerBatches",
  ${ageMsSql('open_submissions')} as "providerBatchOldestMs",
  ${ageMsSql('open_deliveries')} as "outboxOldestMs",
  (select ${sinceMsSql('min(c.due_at)')} from holdfast.crons c where c.is_enabled and c.due_at < clock_timestamp()
    and coalesce(c.not_before <= clock_timestamp(), true)) as "cronOverdueMs",
  ${countedSql('running_roles')} as workers,
  (select coalesce(json_object_agg(tier, ratio), '{}') from cached where ratio is not null) as "cacheHitRatio",
  (select coalesce(json_object_agg(r.kind, json_build_object('deleted', r.deleted, 'reachMs', ${sinceMsSql('r.completed_to')})), '{}')
    from holdfast.retention r) as retention,
  (select coalesce(json_object_agg(park_code, count), '{}') from (select park_code, count(*) as count from parked group by park_code) as counted) as "parkedTurns",
  (select coalesce(json_agg(json_build_object('lane', lane, 'code', park_code, 'ageMs', age)), '[]')
    from (select lane, park_code, ${sinceMsSql('min(oldest_at)')} as age from parked where oldest_at is not null group by 1, 2) as aged) as parked,
  (select coalesce(json_agg(json_build_object('lane', lane, 'ageMs', ${sinceMsSql('oldest_at')}, 'wait', ${waitSql('unclaimed.session_id', 'unclaimed.oldest_at')})), '[]')
    from unclaimed) as unclaimed,
  (select coalesce(json_object_agg(kind, count), '{}') from (select kind, sum(count)::int as count from (${HEALTH_FACTS_SQL}) as facts group by kind) as counted) as troubles,
  (select coalesce(json_object_agg(s.name, s.state), '{}') from holdfast.mcp_servers s
    where s.state <> 'new' and s.due_at > clock_timestamp() - ${MCP_ASKED_MS} * interval '1 millisecond') as "mcpServers",
  (select json_build_object('pid', o.pid, 'database', o.database, 'application', o.application, 'ageMs', ${sinceMsSql('o.began_at')})
    from (${OLDEST_TRANSACTION_SQL}) as o) as "oldestTransaction",
  coalesce(${sinceMsSql(HELD_SINCE_SQL)}, 0) as "heldBackMs",
  (select ${sinceMsSql('e.created_at')} from holdfast.events e
    where e.id > (select p.after_id from holdfast.search_position p where p.singleton) order by e.id limit 1) as "searchLagMs"`,
  // A select without a table in `from` has one row.
  answer: ([row]: ScrapeRow[]) => row!,
});

/** Reads them. */
export async function readScrapeFigures(db: ViewDatabase): Promise<ScrapeFigures> {
  const { parked, unclaimed, ...figures } = await readScrapeRow(db);
  const first = unclaimed.map(({ lane, ageMs, wait }) => ({ lane, ageMs, code: describeWait(db, wait).code }));
  return { ...figures, oldestWaits: [...parked, ...first] };
}

interface ScrapeRow extends Omit<ScrapeFigures, 'oldestWaits'> {
  parked: ScrapeFigures['oldestWaits'];
  unclaimed: { lane: string; ageMs: number; wait: WaitRow }[];
}
