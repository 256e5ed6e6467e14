// Gives past calls other costs. Only calls of turns that have ended are touched: the totals of a
// running turn are absolute values in its worker, which would overwrite them. The totals of turns,
// sessions and usage change by the same differences, in the same statement.
import type { PriceBook, PriceTier, ReportedTokens } from '../../../core/prices.ts';
import type { Database } from '../../../database/database.ts';
import { idOfTimeSql } from '../../../database/page.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { sendQuery, cte, rows, statement } from '../../../database/statement.ts';
import { USAGE_KEYS, USAGE_SUMS } from './usage-rows.ts';

// A version names its rows, so it never changes and is never deleted: what a call cost can be
// proven as long as its row exists.
export const storePriceVersion = literalQuery({
  name: 'store-price-version',
  purpose:
    'Keep the price table of a process, before its first call is priced. Storing a version again changes nothing.',
  text: 'insert into holdfast.price_versions (version, sha256, rows) values ($1, $2, $3::json) on conflict do nothing',
  values: ({ version, sha256, table }: PriceBook) => [version, sha256, JSON.stringify(table)],
});

/** Calls that one statement changes. */
const CALLS_MAX = 500;

/** A call as it is priced again. */
export interface PastCall extends ReportedTokens {
  turnId: string;
  callNo: number;
  model: string;
  tier: PriceTier;
  startedAt: Date;
  costMicros: number | null;
}

/** The call after which the next page begins. */
export type CallPlace = Pick<PastCall, 'turnId' | 'callNo'>;

// A turn may be open for long: its calls are searched from its beginning on.
export const readPastCalls = literalQuery({
  name: 'past-calls',
  purpose:
    'Read the next calls of ended turns that started in a span of time, in the order of their turns. Calls of harnesses are left out.',
  text: `select c.turn_id as "turnId", c.call_no as "callNo", coalesce(c.model, 'anthropic/' || t.model) as model, c.tier, c.started_at as "startedAt",
  c.input_tokens::float8 as "inputTokens", c.output_tokens::float8 as "outputTokens", c.cache_read_tokens::float8 as "cacheReadTokens",
  c.cache_write_tokens::float8 as "cacheWriteTokens", c.cache_write_1h_tokens::float8 as "cacheWrite1hTokens", c.cost_micros::float8 as "costMicros"
from holdfast.turns t join holdfast.model_calls c on c.turn_id = t.id
where (c.turn_id, c.call_no) > ($3, $4) and t.id >= ${idOfTimeSql("$1::timestamptz - interval '30 days'")} and t.id < ${idOfTimeSql("$2::timestamptz + interval '1 hour'")}
  and t.ended_at is not null and c.started_at >= $1 and c.started_at < $2 and c.request_sha256 is not null
order by c.turn_id, c.call_no limit ${CALLS_MAX}`,
  pool: 'views',
  values: ({ from, to, after }: { from: Date; to: Date; after: CallPlace }) => [from, to, after.turnId, after.callNo],
  answer: (calls: PastCall[]) => calls,
});

/** The new cost of a call. `before`: the cost that it must have now; otherwise it is unchanged. */
export interface NewCost extends CallPlace {
  before: number | null;
  costMicros: number | null;
  priceVersion: string | null;
}

interface Repricing {
  id: string;
  costs: readonly NewCost[];
}

/** The assignments that change a total; a total of 0 with calls without a price is unknown. */
const totalSql = (row: string): string => `cost_micros = case when coalesce(${row}.cost_micros, 0) + change.cost = 0
      and ${row}.unpriced_calls + change.unpriced > 0 then null else coalesce(${row}.cost_micros, 0) + change.cost end,
    unpriced_calls = greatest(0, ${row}.unpriced_calls + change.unpriced)`;

const OTHER_SUMS = USAGE_SUMS.filter((name) => name !== 'cost_micros' && name !== 'unpriced_calls');
const KEYS = USAGE_KEYS.join(', ');

export const REPRICE_CALLS = statement<Repricing>({
  name: 'reprice-calls',
  purpose:
    'Give calls other costs, keep the earlier ones, and change the sums by the differences. Answers how many have changed.',
  locking: 'The session rows in the order of their ids, their turns in that of theirs, then rows that belong to them.',
  ctes: [
    rows('new_costs', ({ costs }: Repricing) => costs, {
      turn_id: ['uuid', (cost) => cost.turnId],
      call_no: ['int', (cost) => cost.callNo],
      before: ['bigint', (cost) => cost.before],
      cost_micros: ['bigint', (cost) => cost.costMicros],
      price_version: ['text', (cost) => cost.priceVersion],
    }),
    cte(`locked_sessions as materialized (
  select s.id, s.agent_id from holdfast.sessions s
  where s.id in (select t.session_id from holdfast.turns t join new_costs on new_costs.turn_id = t.id) order by s.id for no key update
)`),
    // Before their calls, as in the statements that delete turns: of the two, one waits for the
    // other here, and finds no turn afterwards.
    cte(`locked_turns as materialized (
  select t.id, t.session_id, t.model, t.lane, t.kind, s.agent_id from holdfast.turns t join locked_sessions s on s.id = t.session_id
  where t.id in (select turn_id from new_costs) and t.ended_at is not null order by t.id for no key update of t
)`),
    cte(`changed_calls as (
  update holdfast.model_calls c set cost_micros = new_costs.cost_micros, price_version = new_costs.price_version
  from new_costs join locked_turns t on t.id = new_costs.turn_id
  where c.turn_id = new_costs.turn_id and c.call_no = new_costs.call_no
    -- A statement that is sent again finds the new cost.
    and c.cost_micros is not distinct from new_costs.before and c.cost_micros is distinct from new_costs.cost_micros
  returning c.turn_id, c.call_no, t.session_id, t.agent_id, coalesce(c.model, 'anthropic/' || t.model) as model, t.lane, c.tier, t.kind, c.ended_at,
    c.is_simulated, new_costs.before, c.cost_micros as after,
    coalesce(c.cost_micros, 0) - coalesce(new_costs.before, 0) as cost, (c.cost_micros is null)::int - (new_costs.before is null)::int as unpriced
)`),
    cte(
      `kept_costs as (
  insert into holdfast.earlier_costs (turn_id, call_no, repricing_id, cost_micros, price_version)
  select changed_calls.turn_id, changed_calls.call_no, $repricing::uuid, changed_calls.before, c.price_version
  from changed_calls join holdfast.model_calls c on c.turn_id = changed_calls.turn_id and c.call_no = changed_calls.call_no
  on conflict do nothing
)`,
      { binds: { repricing: ({ id }) => id } },
    ),
    cte(`updated_turns as (
  update holdfast.turns t set ${totalSql('t')}
  from (select turn_id, sum(cost)::bigint as cost, sum(unpriced)::int as unpriced from changed_calls group by turn_id) as change
  where t.id = change.turn_id
)`),
    cte(`updated_sessions as (
  update holdfast.sessions s set ${totalSql('s')}
  from (select session_id, sum(cost)::bigint as cost, sum(unpriced)::int as unpriced from changed_calls group by session_id) as change
  where s.id = change.session_id
)`),
    // A call can have ended in the last millisecond of a step, and its event fall into the next:
    // then this is a separate bucket.
    cte(`updated_buckets as (
  insert into holdfast.usage_buckets as bucket (size, starts_at, ${KEYS}, cost_micros, unpriced_calls, is_simulated, ${OTHER_SUMS.join(', ')})
  select size, date_trunc(size, ended_at, 'UTC'), ${KEYS}, sum(cost)::bigint, sum(unpriced)::bigint, bool_or(is_simulated), ${OTHER_SUMS.map(() => '0').join(', ')}
  from changed_calls cross join unnest(array['minute', 'hour']) as size
  group by size, date_trunc(size, ended_at, 'UTC'), ${KEYS}
  on conflict (size, starts_at, ${KEYS}) do update set cost_micros = bucket.cost_micros + excluded.cost_micros,
    unpriced_calls = bucket.unpriced_calls + excluded.unpriced_calls
)`),
    cte(`updated_repricings as (
  update holdfast.repricings r set calls = r.calls + change.calls, before_micros = r.before_micros + change.before, after_micros = r.after_micros + change.after
  from (select count(*) as calls, coalesce(sum(before), 0)::bigint as before, coalesce(sum(after), 0)::bigint as after from changed_calls) as change
  where r.id = $repricing::uuid
)`),
  ],
  select: 'select count(*)::int as count from changed_calls',
});

/** Gives calls other costs; resolves with how many have changed. */
export async function repriceCalls(database: Database, repricing: Repricing): Promise<number> {
  const [row] = await sendQuery<{ count: number }>(database.hot, REPRICE_CALLS.prepared(repricing));
  return row?.count ?? 0;
}

/** For people who ask later why a cost has changed. */
export const beginRepricing = literalQuery({
  name: 'begin-repricing',
  purpose: 'Note that past calls are priced again, and why.',
  text: `insert into holdfast.repricings (id, from_at, to_at, price_version, reason) values ($id, $from, $to, $priceVersion, $reason) on conflict do nothing`,
  values: (repricing: { id: string; from: Date; to: Date; priceVersion: string; reason: string | null }) => repricing,
});

export const endRepricing = literalQuery({
  name: 'end-repricing',
  purpose: 'Note that past calls have been priced again.',
  locking: 'The row of the repricing.',
  text: `update holdfast.repricings set ended_at = clock_timestamp() where id = $1`,
  values: (id: string) => [id],
});
