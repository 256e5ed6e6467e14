// Requests whose deadline is near leave the lane: they become live calls of their turns, or their turns fail. A result that arrives afterwards
// finds no request that waits for it.
import type { Committed, Ring } from '../../after-commit.ts';
import type { Database } from '../database.ts';
import { LASTING_RETRY_MS } from '../retry-passing-faults.ts';
import { sendQuery } from '../send-query.ts';
import { wakeSql, type NeededRing } from '../session-locks.ts';
import { literal } from '../statement.ts';

/** The most requests that leave in one statement. */
const LEAVING_MAX = 500;

export const LEAVE_LANE = literal({
  name: 'leave-lane',
  purpose: 'Take requests out of the lane that must not wait longer, and wake their turns. Answers the rings.',
  locking: 'The session rows in the order of their ids, then the requests.',
  text: `with leaving as materialized (
  select r.turn_id, r.call_no, r.session_id from holdfast.provider_requests r
  where r.status in ('queued', 'assigned') and r.leave_at <= statement_timestamp() order by r.leave_at limit ${LEAVING_MAX}
),
locked as materialized (
  select s.id from holdfast.sessions s where s.id in (select session_id from leaving) order by s.id for no key update
),
moved as (
  update holdfast.provider_requests r
  set status = case r.fallback when 'live' then 'live' else 'expired' end, params = null, settled_at = clock_timestamp()
  from leaving
  where r.turn_id = leaving.turn_id and r.call_no = leaving.call_no and r.status in ('queued', 'assigned') and r.session_id in (select id from locked)
  returning r.session_id, r.turn_id
),
updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp() from moved where s.id = moved.session_id
  returning s.*, s.turn_id = moved.turn_id and (s.owner is null or s.lease_expires_at <= clock_timestamp()) as is_waiting
),
rung_doorbells as (
  ${wakeSql('updated_sessions', 's.is_waiting')}
)
select (select count(*)::int from moved) as moved,
  (select coalesce(json_agg(json_build_object('sessionId', session_id, 'lane', lane, 'ringNo', rings)), '[]') from rung_doorbells) as rings`,
});

/** Moves due requests out; resolves with their number. */
export async function leaveLane(database: Database): Promise<Committed<{ moved: number }>> {
  const [row] = await sendQuery<{ moved: number; rings: NeededRing[] }>(
    database.hot,
    LEAVE_LANE.prepared([]),
    LASTING_RETRY_MS,
  );
  const rings = (row?.rings ?? []).map((ring): Ring => ({ kind: 'inbound', ...ring }));
  return { moved: row?.moved ?? 0, after: { changed: (row?.rings ?? []).map(({ sessionId }) => sessionId), rings } };
}
