// Reservations whose calls will never be stored: their worker is gone, and no later claim of the turn has made a call. Any number of schedulers
// may release them.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** How long after the end of a lease, and the most of one statement. */
const GRACE = '30 seconds';
const RELEASED_MAX = 1_000;

export const RELEASE_RESERVATIONS = literal({
  name: 'release-reservations',
  purpose:
    'Release the reservations of calls whose worker is gone, and of turns that have ended. One that waits for a batch of the provider stays. Answers how many.',
  locking: 'The windows in the order of their budgets, then the reservations.',
  text: `with left_behind as materialized (
  select r.turn_id, r.call_no, r.budget_id, r.starts_at from holdfast.cost_reservations r
  left join holdfast.sessions s on s.id = r.session_id
  left join holdfast.turns t on t.id = r.turn_id
  where (t.id is null or t.ended_at is not null or s.id is null or s.turn_id is distinct from r.turn_id
      or (s.owner is null or s.epoch <> r.epoch or s.lease_expires_at < clock_timestamp() - interval '${GRACE}')
        and not exists (select from holdfast.provider_requests q where q.turn_id = r.turn_id and q.call_no = r.call_no
          and q.status in ('queued', 'assigned', 'answered', 'errored')))
  limit ${RELEASED_MAX}
),
windows as materialized (
  select w.budget_id, w.starts_at from holdfast.budget_windows w
  where (w.budget_id, w.starts_at) in (select budget_id, starts_at from left_behind) order by w.budget_id, w.starts_at for update
),
released as (
  delete from holdfast.cost_reservations r using left_behind l, windows w
  where r.turn_id = l.turn_id and r.call_no = l.call_no and r.budget_id = l.budget_id and w.budget_id = r.budget_id and w.starts_at = r.starts_at
  returning r.budget_id, r.starts_at, r.micros
),
updated as (
  update holdfast.budget_windows w set reserved_micros = w.reserved_micros - freed.micros
  from (select budget_id, starts_at, sum(micros) as micros from released group by budget_id, starts_at) as freed
  where w.budget_id = freed.budget_id and w.starts_at = freed.starts_at
)
select count(*)::int as released from released`,
});

/** Releases what is left behind; resolves with whether there may be more. */
export async function releaseReservations(database: Database): Promise<boolean> {
  const [row] = await sendQuery<{ released: number }>(database.hot, RELEASE_RESERVATIONS.prepared([]));
  return row?.released === RELEASED_MAX;
}
