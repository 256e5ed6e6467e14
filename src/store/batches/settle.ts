// The ends of items: derived from the rows of their inputs by the schedulers, and never written by a turn. Each end is written to its item and
// added to the counts of its batch in one statement, under the lock of the batch.
import { FAILURE_WINDOW } from '../../core/batch/judge-batch.ts';
import { IS_FIRST_SQL } from '../charged-inputs.ts';
import { insertServiceEventsSql } from '../events.ts';
import { literalQuery } from '../literal-query.ts';

const SETTLED_MAX = 500;
/** The last ones are read (`MINUTES_READ`): long items end in few of them. */
const MINUTES_KEPT = '1 day';

const TOKENS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'];

/** SQL of the tokens of a turn `t`, 0 without one; of their sums; and of what adds those of one row to another. */
const OF_TURN = TOKENS.map((name) => `coalesce(t.${name}, 0) as ${name}`).join(', ');
const SUMS = TOKENS.map((name) => `sum(${name})::bigint as ${name}`).join(', ');
const added = (to: string, from: string): string =>
  TOKENS.map((name) => `${name} = ${to}.${name} + ${from}.${name}`).join(', ');
const withCost = (to: string, from: string): string => `${added(to, from)},
    cost_micros = coalesce(${to}.cost_micros + ${from}.cost_micros, ${from}.cost_micros, ${to}.cost_micros)`;
const asBatch = (from: string): string => `${withCost('b', from)},
    unpriced_calls = b.unpriced_calls + ${from}.unpriced_calls, is_simulated = b.is_simulated or ${from}.is_simulated`;

/** How many inputs of a statement have ended, and whether there may be more. */
const answer = ([row]: { ended: number }[]): { ended: number; hasMore: boolean } => ({
  ended: row?.ended ?? 0,
  hasMore: (row?.ended ?? 0) >= SETTLED_MAX,
});

/** For calls without further facts. */
const LIVE_REASON = 'Asked live: the pilot, a deadline, or a request that cannot go through a batch.';

// A turn's cost: 0 where no turn began, null where the price of its calls is not known.
/** Writes the ends of items. */
export const settleItems = literalQuery({
  name: 'settle-batch-items',
  purpose: 'Write the ends of items whose inputs are settled, and add them to their batches. Answers how many.',
  locking:
    'The batches, skipping those that are locked, in the order of their ids, then their items, then their rounds and minutes in order.',
  text: `with held as materialized (
  select b.* from holdfast.batches b where b.status <> 'ended' and b.in_flight > 0 order by b.id for no key update skip locked
),
ended as materialized (
  select i.batch_id, i.n, x.turn_id, x.settled_at, coalesce(extract(epoch from x.settled_at - t.started_at) * 1000, 0) as busy_ms,
    case when x.status in ('answered', 'silent', 'cancelled') then x.status
      when coalesce(x.error, t.error) ->> 'code' = 'expired' then 'expired' else 'failed' end as status,
    case when x.status not in ('answered', 'silent') then coalesce(x.error, t.error,
      json_build_object('code', x.status, 'message', 'The message was ' || x.status || '.')) end as error,
    ${OF_TURN},
    case when t.id is null then 0 else t.cost_micros end as cost_micros, coalesce(t.unpriced_calls, 0) as unpriced_calls,
    coalesce(t.is_simulated, false) as is_simulated
  from held join holdfast.batch_items i on i.batch_id = held.id join holdfast.inbox x on x.id = i.message_id
  left join holdfast.turns t on t.id = x.turn_id
  where i.status = 'fed' and x.settled_at is not null
  order by x.settled_at limit ${SETTLED_MAX}
  for no key update of i
),
settled as (
  update holdfast.batch_items i
  set status = ended.status, turn_id = ended.turn_id, ended_at = ended.settled_at, error = ended.error,
    error_code = case when ended.status in ('failed', 'expired') then coalesce(ended.error ->> 'code', 'unknown') end,
    ${withCost('i', 'ended')}
  from ended where i.batch_id = ended.batch_id and i.n = ended.n
),
readied as (
  update holdfast.batch_items i set is_ready = true
  from ended where i.batch_id = ended.batch_id and i.after_n = ended.n and not i.is_ready
),
-- The calls that turns of a batch of the provider have made live: a pilot, a deadline, the cheaper way.
live_hops as (
  insert into holdfast.batch_hops as h (batch_id, n, via, reason, requests, answered, ${TOKENS.join(', ')}, cost_micros, live_micros, ended_at)
  select ended.batch_id, c.step, 'live', coalesce(max(c.notes ->> 'way'), '${LIVE_REASON}'), count(*), count(*),
    ${TOKENS.map((name) => `sum(c.${name})`).join(', ')}, sum(c.cost_micros), sum(c.cost_micros), max(c.ended_at)
  from ended join held on held.id = ended.batch_id and held.via <> 'live'
  join holdfast.model_calls c on c.turn_id = ended.turn_id and c.tier = 'standard'
  group by ended.batch_id, c.step order by ended.batch_id, c.step
  on conflict (batch_id, n, via) do update
  set reason = coalesce(nullif(excluded.reason, '${LIVE_REASON}'), h.reason), requests = h.requests + excluded.requests, answered = h.answered + excluded.answered,
    ${added('h', 'excluded')},
    cost_micros = h.cost_micros + excluded.cost_micros, live_micros = h.live_micros + excluded.live_micros, ended_at = excluded.ended_at
),
minutes as (
  insert into holdfast.batch_minutes as m (batch_id, starts_at, ended, busy_ms)
  select batch_id, date_trunc('minute', settled_at, 'UTC'), count(*), sum(busy_ms) from ended group by 1, 2 order by 1, 2
  on conflict (batch_id, starts_at) do update set ended = m.ended + excluded.ended, busy_ms = m.busy_ms + excluded.busy_ms
),
counted as materialized (
  select batch_id, count(*)::int as ended, count(*) filter (where status = 'answered')::int as answered,
    count(*) filter (where status = 'silent')::int as silent, count(*) filter (where status = 'failed')::int as failed,
    count(*) filter (where status = 'cancelled')::int as cancelled, count(*) filter (where status = 'expired')::int as expired,
    string_agg(case when status in ('failed', 'expired') then 'x' else '.' end, '' order by settled_at)
      filter (where status <> 'cancelled') as recent,
    ${SUMS},
    sum(cost_micros)::bigint as cost_micros, sum(unpriced_calls)::int as unpriced_calls, bool_or(is_simulated) as is_simulated
  from ended group by batch_id
),
updated as (
  update holdfast.batches b
  set in_flight = b.in_flight - counted.ended, answered = b.answered + counted.answered, silent = b.silent + counted.silent,
    failed = b.failed + counted.failed, cancelled = b.cancelled + counted.cancelled, expired = b.expired + counted.expired,
    recent = right(b.recent || coalesce(counted.recent, ''), ${FAILURE_WINDOW}),
    ${asBatch('counted')},
    progress_at = case when is_told then clock_timestamp() else b.progress_at end
  from counted join held o on o.id = counted.batch_id,
    lateral (select coalesce(o.progress_at, '-infinity') < clock_timestamp() - interval '1 second' as is_told) as marks
  where b.id = counted.batch_id
  returning b.id, is_told, json_build_object('answered', b.answered, 'silent', b.silent, 'failed', b.failed, 'cancelled', b.cancelled,
    'expired', b.expired, 'inFlight', b.in_flight, 'total', b.item_count) as counts
),
trimmed_minutes as (
  delete from holdfast.batch_minutes m using counted
  where m.batch_id = counted.batch_id and m.starts_at < clock_timestamp() - interval '${MINUTES_KEPT}'
),
inserted_events as (
  ${insertServiceEventsSql('updated where is_told', 'batch.progress', `'batchId', id, 'counts', counts`)}
)
select coalesce(sum(ended), 0)::int as ended from counted`,
  answer,
});

// Also for a batch that has ended: a person can steer a subagent, or retry a turn, after that.
/** Counts what turns of items have started and has ended. */
export const settleCharged = literalQuery({
  name: 'settle-charged-inputs',
  purpose:
    'Add what the turns of items have started, and has ended, to the costs of the items and their batches. Answers how many inputs.',
  locking:
    'The batches, skipping those that are locked, in the order of their ids, then the rows of the inputs, then the items.',
  text: `with held as materialized (
  select b.id from holdfast.batches b
  where b.id in (select c.batch_id from holdfast.charged_inputs c where c.batch_id is not null and not c.is_counted)
  order by b.id for no key update skip locked
),
ended as materialized (
  select c.message_id, c.batch_id, c.batch_n, ${OF_TURN}, t.cost_micros,
    coalesce(t.unpriced_calls, 0) as unpriced_calls, coalesce(t.is_simulated, false) as is_simulated
  from held join holdfast.charged_inputs c on c.batch_id = held.id left join holdfast.inbox x on x.id = c.message_id
  left join holdfast.turns t on t.id = x.turn_id and ${IS_FIRST_SQL}
  where not c.is_counted and (x.id is null or x.settled_at is not null) limit ${SETTLED_MAX}
  for no key update of c
),
counted as (
  update holdfast.charged_inputs c set is_counted = true from ended where c.message_id = ended.message_id
),
of_items as (
  update holdfast.batch_items i
  set ${withCost('i', 'sums')}
  from (
    select batch_id, batch_n, ${SUMS}, sum(cost_micros)::bigint as cost_micros
    from ended group by batch_id, batch_n
  ) as sums
  where i.batch_id = sums.batch_id and i.n = sums.batch_n
),
updated as (
  update holdfast.batches b
  set ${asBatch('sums')}
  from (
    select batch_id, ${SUMS}, sum(cost_micros)::bigint as cost_micros,
      sum(unpriced_calls)::int as unpriced_calls, bool_or(is_simulated) as is_simulated
    from ended group by batch_id
  ) as sums
  where b.id = sums.batch_id
)
select count(*)::int as ended from ended`,
  answer,
});
