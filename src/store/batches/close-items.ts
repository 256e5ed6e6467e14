// Ends items without a turn: those of a cancelled batch, and those that were not fed before the deadline. A bounded number at a time.
import { BUDGET_REACHED } from '../../core/budget/budget.ts';
import type { Committed } from '../../after-commit.ts';
import type { SessionId, TurnId } from '../../core/ids.ts';
import { IS_FIRST_SQL } from '../charged-inputs.ts';
import { insertEventsSql } from '../events.ts';
import { literalQuery } from '../literal-query.ts';
import { changeOf, allOf } from '../rings.ts';

const CLOSED_MAX = 5_000;

/** Ends items of cancelled and overdue batches; true when there may be more. */
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
  answer: ([row]: { items: number }[]) => (row?.items ?? 0) >= CLOSED_MAX,
});

const WITHDRAWN_MAX = 500;

/** The inputs of cancelled batches that have not ended, as `x` with their batch `b`: of items, and those that turns of items have started. */
const INPUTS_SQL = `holdfast.batches b cross join lateral (
    select i.message_id from holdfast.batch_items i where i.batch_id = b.id and i.status = 'fed'
    union all select c.message_id from holdfast.charged_inputs c where c.batch_id = b.id and not c.is_counted
  ) as own join holdfast.inbox x on x.id = own.message_id and b.status = 'cancelling'`;

// Every run finds all items that have not ended, so nothing that a crash leaves out is lost.
/** Cancels the waiting inputs of cancelled batches. */
export const withdrawInputs = literalQuery({
  name: 'withdraw-batch-inputs',
  purpose: 'Cancel the waiting inputs of cancelled batches. Answers the sessions of which one was cancelled.',
  locking: 'The session rows in the order of their ids, then the inputs.',
  text: `with fed as materialized (
  select x.id as message_id, x.session_id from ${INPUTS_SQL} where b.stops_running and x.status = 'waiting'
  limit ${WITHDRAWN_MAX}
),
locked as materialized (
  select s.id from holdfast.sessions s where s.id in (select session_id from fed) order by s.id for no key update
),
withdrawn as (
  update holdfast.inbox x
  set status = 'cancelled', settled_at = clock_timestamp(), error = json_build_object('code', 'cancelled', 'message', 'The batch was cancelled.')
  from fed join locked on locked.id = fed.session_id where x.id = fed.message_id and x.status = 'waiting'
  returning x.id, x.session_id, x.seq
),
counted as materialized (select session_id, count(*)::int as inputs from withdrawn group by session_id),
updated_sessions as (
  update holdfast.sessions s set waiting = s.waiting - counted.inputs, updated_at = clock_timestamp()
  from counted where s.id = counted.session_id
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.settled' as type,
      json_build_object('messageId', id, 'status', 'cancelled') as data, seq as n from withdrawn`)}
)
select session_id from counted`,
  answer: (rows: { session_id: SessionId }[]): Committed<{ sessions: number }> => ({
    sessions: rows.length,
    after: allOf(rows.map((row) => ({ after: changeOf(row.session_id) }))),
  }),
});

// A turn that waits for a budget does not run, and may wait for weeks: that of a cancelled batch is stopped, also where those that run may finish.
/** What is to be stopped of cancelled batches and has not been asked to. */
export const readWorkToStop = literalQuery({
  name: 'batch-work-to-stop',
  purpose:
    'Read the runs that turns of cancelled batches have started, those above first, then the open turns of these batches.',
  text: `select array(
  select r.id from holdfast.batches b join holdfast.subagent_runs r on r.charged_to ->> 'batchId' = b.id::text
  where b.status = 'cancelling' and b.stops_running and r.status = 'running' and r.charged_to is not null order by r.depth limit ${WITHDRAWN_MAX}
) as "runIds", array(
  select distinct x.turn_id from ${INPUTS_SQL}
  join holdfast.sessions s on s.id = x.session_id join holdfast.turns t on t.id = x.turn_id
  where (b.stops_running or t.status = 'parked' and t.park_code = '${BUDGET_REACHED}') and x.status = 'claimed' and ${IS_FIRST_SQL}
    and s.turn_id = x.turn_id and s.stop_reason is null
  limit ${WITHDRAWN_MAX}
) as "turnIds"`,
  answer: ([row]: { runIds: string[]; turnIds: TurnId[] }[]) => row ?? { runIds: [], turnIds: [] },
});
