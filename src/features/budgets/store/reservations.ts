// Reservations that a crash has left, and turns that wait for a budget with room. Any number of
// schedulers may do both.
import { literalQuery } from '../../../database/literal-query.ts';
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import { BUDGET_REACHED } from '../rules/budget.ts';
import { afterOfRings, RINGS_SQL, type NeededRing } from '../../../kernel/queue/rings.ts';
import { wokenSql } from '../../../kernel/queue/wake-parked.ts';
import { isReachedSql } from './budgets-sql.ts';

// Releases reservations of calls that will probably never be stored: their worker is gone, and no
// later claim of the turn has made a call.

/** How long after the end of a lease, and the most of one statement. */
const GRACE = '30 seconds';
const RELEASED_MAX = 1_000;

/** Resolves with whether there may be more. */
export const releaseReservations = literalQuery({
  name: 'release-reservations',
  purpose:
    'Release the reservations of calls whose worker is gone, and of turns that have ended. One that waits for a batch of the provider stays. Answers how many.',
  locking: 'The windows in the order of their budgets, then the reservations.',
  text: `with left_behind as materialized (
  select r.turn_id, r.call_no, r.budget_id, r.starts_at, kept.is_kept from holdfast.cost_reservations r
  left join holdfast.sessions s on s.id = r.session_id
  left join holdfast.turns t on t.id = r.turn_id
  -- A worker that was only stopped for long, or without the database, can still store its call: no other worker has claimed the turn.
  cross join lateral (
    select coalesce(t.ended_at is null and s.turn_id = r.turn_id and s.owner is not null and s.epoch = r.epoch, false) as is_kept
  ) as kept
  where (t.id is null or t.ended_at is not null or s.id is null or s.turn_id is distinct from r.turn_id
      or (s.owner is null or s.epoch <> r.epoch or s.lease_expires_at < clock_timestamp() - interval '${GRACE}')
        and not exists (select from holdfast.provider_requests q where q.turn_id = r.turn_id and q.call_no = r.call_no
          and q.status in ('queued', 'assigned', 'answered', 'errored')))
    and (r.micros > 0 or not kept.is_kept)
    and not exists (select from holdfast.model_calls c where c.turn_id = r.turn_id and c.call_no = r.call_no)
  limit ${RELEASED_MAX}
),
windows as materialized (
  select w.budget_id, w.starts_at from holdfast.budget_windows w
  where (w.budget_id, w.starts_at) in (select budget_id, starts_at from left_behind) order by w.budget_id, w.starts_at for update
),
held as materialized (
  select r.turn_id, r.call_no, r.budget_id, r.starts_at, r.micros, l.is_kept
  from left_behind l join windows w on w.budget_id = l.budget_id and w.starts_at = l.starts_at
  join holdfast.cost_reservations r on r.turn_id = l.turn_id and r.call_no = l.call_no and r.budget_id = l.budget_id and r.starts_at = l.starts_at
  for update of r
),
deleted as (
  delete from holdfast.cost_reservations r using held h
  where not h.is_kept and r.turn_id = h.turn_id and r.call_no = h.call_no and r.budget_id = h.budget_id
),
-- What is left of it says where its cost counts.
emptied as (
  update holdfast.cost_reservations r set micros = 0 from held h
  where h.is_kept and r.turn_id = h.turn_id and r.call_no = h.call_no and r.budget_id = h.budget_id
),
updated as (
  update holdfast.budget_windows w set reserved_micros = w.reserved_micros - freed.micros
  from (select budget_id, starts_at, sum(micros) as micros from held group by budget_id, starts_at) as freed
  where w.budget_id = freed.budget_id and w.starts_at = freed.starts_at
)
select count(*)::int as released from held`,
  answer: ([row]: { released: number }[]) => row?.released === RELEASED_MAX,
});

/** SQL of whether calls have reserved their cost, or turns wait for a budget. */
export const HAS_TRACES_SQL = `exists (select from holdfast.cost_reservations r)
or exists (select from holdfast.turns t where t.ended_at is null and t.status = 'parked' and t.park_code = '${BUDGET_REACHED}')`;

// The schedulers look for turns that wait for a budget which is not reached, and not for a short
// time: the calls that had reserved the rest have cost less, or the turn has missed the wake of a
// change, because it was refused just before and parked just after it.

const WOKEN_MAX = 500;

/** Shorter waits end by themselves. */
const SHORT_WAIT = '10 minutes';

export const wakeBudgetWaiters = literalQuery({
  name: 'wake-budget-waiters',
  purpose: 'Make the turns due that wait for a budget that has room again or is gone. Answers their rings.',
  locking: 'The session rows in the order of their ids.',
  text: `with ${wokenSql(
    [BUDGET_REACHED],
    `not exists (select from holdfast.doorbells d where d.session_id = t.session_id and d.due_at < clock_timestamp() + interval '${SHORT_WAIT}')
    and not exists (select from holdfast.budgets b join holdfast.budget_windows w on w.budget_id = b.id
      where b.id = t.park_by::uuid and b.removed_at is null and w.starts_at <= clock_timestamp()
        and (w.ends_at is null or w.ends_at > clock_timestamp()) and ${isReachedSql('b', 'w')})
  limit ${WOKEN_MAX}`,
  )}
select ${RINGS_SQL} as rings`,
  answer([row]: { rings: NeededRing[] }[]): Committed<{ woken: number }> {
    const needed = row?.rings ?? [];
    return { woken: needed.length, after: afterOfRings(needed) };
  },
});
