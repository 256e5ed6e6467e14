// The ends of items: derived from the rows of their inputs by the schedulers, and never written by
// a turn. Each end is written to its item and added to the counts of its batch in one statement,
// under the lock of the batch. Items of cancelled and overdue batches end without a turn.
import { FAILURE_WINDOW } from '../rules/judge-batch.ts';
import { BUDGET_REACHED } from '../../budgets/rules/budget.ts';
import type { MessageId, TurnId } from '../../../core/ids.ts';
import { IS_FIRST_SQL } from '../../../kernel/inbox/charged-inputs.ts';
import { insertServiceEventsSql } from '../../../kernel/events/events.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { RunAbort } from '../../../kernel/effects/control.ts';

const SETTLED_MAX = 500;
/** The last ones are read (`MINUTES_READ`): long items end in few of them. */
const MINUTES_KEPT = '1 day';

const TOKENS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'];

/**
 * SQL of the tokens of a turn `t`, 0 without one; of their sums; and of what adds those of one row
 * to another.
 */
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
    progress_at = case when is_reported then clock_timestamp() else b.progress_at end
  from counted join held o on o.id = counted.batch_id,
    lateral (select coalesce(o.progress_at, '-infinity') < clock_timestamp() - interval '1 second' as is_reported) as marks
  where b.id = counted.batch_id
  returning b.id, is_reported, json_build_object('answered', b.answered, 'silent', b.silent, 'failed', b.failed, 'cancelled', b.cancelled,
    'expired', b.expired, 'inFlight', b.in_flight, 'total', b.item_count) as counts
),
trimmed_minutes as (
  delete from holdfast.batch_minutes m using counted
  where m.batch_id = counted.batch_id and m.starts_at < clock_timestamp() - interval '${MINUTES_KEPT}'
),
inserted_events as (
  ${insertServiceEventsSql('updated where is_reported', 'batch.progress', `'batchId', id, 'counts', counts`)}
)
select coalesce(sum(ended), 0)::int as ended from counted`,
  answer,
});

// Also for a batch that has ended: a person can steer a subagent, or retry a turn, after that.
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

const CLOSED_MAX = 5_000;

export const closeItems = literalQuery({
  name: 'close-batch-items',
  purpose: 'End the items that will not be fed: their batch is cancelled, or its deadline is over. Answers how many.',
  locking: 'The batches, skipping those that are locked, in the order of their ids, then their items.',
  text: `with held as materialized (
  select b.id, case when b.status = 'cancelling' then 'cancelled' else 'expired' end as status
  from holdfast.batches b
  where b.status = 'cancelling' or b.status in ('running', 'paused') and b.deadline_at <= clock_timestamp()
  order by b.id for no key update skip locked
),
closing as materialized (
  select i.batch_id, i.n, held.status from held join holdfast.batch_items i on i.batch_id = held.id
  where i.status = 'pending' limit ${CLOSED_MAX}
  for no key update of i
),
closed as (
  update holdfast.batch_items i
  set status = closing.status, is_ready = true, ended_at = clock_timestamp(), cost_micros = coalesce(i.cost_micros, 0),
    error = case closing.status when 'expired' then json_build_object('code', 'expired', 'message', 'The deadline of the batch had passed.')
      else json_build_object('code', 'cancelled', 'message', 'The batch was cancelled.') end,
    error_code = case closing.status when 'expired' then 'expired' end
  from closing where i.batch_id = closing.batch_id and i.n = closing.n
),
counted as materialized (select batch_id, status, count(*)::int as items from closing group by batch_id, status),
updated as (
  update holdfast.batches b
  set cancelled = b.cancelled + case when counted.status = 'cancelled' then counted.items else 0 end,
    expired = b.expired + case when counted.status = 'expired' then counted.items else 0 end
  from counted where b.id = counted.batch_id
)
select coalesce(sum(items), 0)::int as items from counted`,
  answer: ([row]: { items: number }[]) => row?.items ?? 0,
});

const STOPPED_MAX = 500;

/**
 * The inputs of cancelled batches that have not ended, as `x` with their batch `b`: of items, and
 * those that turns of items have started.
 */
const INPUTS_SQL = `holdfast.batches b cross join lateral (
    select i.message_id from holdfast.batch_items i where i.batch_id = b.id and i.status = 'fed'
    union all select c.message_id from holdfast.charged_inputs c where c.batch_id = b.id and not c.is_counted
  ) as own join holdfast.inbox x on x.id = own.message_id and b.status = 'cancelling'`;

/** Every round finds all that has not ended, so nothing that a crash leaves out is lost. */
export interface WorkToStop {
  runs: Pick<RunAbort, 'runId' | 'sessionId'>[];
  /** Inputs that wait. */
  messageIds: MessageId[];
  turnIds: TurnId[];
}

// A turn that waits for a budget does not run, and may wait for weeks: that of a cancelled batch is
// stopped, also where those that run may finish.
export const readWorkToStop = literalQuery({
  name: 'batch-work-to-stop',
  purpose:
    'Read the runs that turns of cancelled batches have started, those above first, then the waiting inputs and the open turns of these batches.',
  text: `select array(
  select json_build_object('runId', r.id, 'sessionId', r.child_id) from holdfast.batches b join holdfast.subagent_runs r on r.charged_to ->> 'batchId' = b.id::text
  where b.status = 'cancelling' and b.stops_running and r.status = 'running' and r.charged_to is not null order by r.depth limit ${STOPPED_MAX}
) as runs, array(
  select x.id from ${INPUTS_SQL} where b.stops_running and x.status = 'waiting' limit ${STOPPED_MAX}
) as "messageIds", array(
  select distinct x.turn_id from ${INPUTS_SQL}
  join holdfast.sessions s on s.id = x.session_id join holdfast.turns t on t.id = x.turn_id
  where (b.stops_running or t.status = 'parked' and t.park_code = '${BUDGET_REACHED}') and x.status = 'claimed' and ${IS_FIRST_SQL}
    and s.turn_id = x.turn_id and s.stop_reason is null
  limit ${STOPPED_MAX}
) as "turnIds"`,
  // A select without a table in `from` has one row.
  answer: ([row]: WorkToStop[]) => row!,
});
