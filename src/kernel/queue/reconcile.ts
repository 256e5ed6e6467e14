// Reconciling: rings again for sessions that have work, that no worker holds, and whose last ring
// is old. With it, wiping the queue costs time and loses nothing (G22), and the session of a
// crashed worker resumes when its lease has expired (G10).
//
// A round reads the doorbells that are due, by an index, and one that is not. So it costs the same
// however many turns are parked: a turn that waits for a known time has a doorbell that is not due,
// and one that waits for anything else has none (docs/decisions/0048). Sessions that a person has
// paused are left out: otherwise they would take the room of those that can run.
import type { Lane } from '../../config.ts';
import type { Committed } from './after-commit.ts';
import { buildRings, type NeededRing, type RungColumns } from './rings.ts';
import type { SessionId } from '../../core/ids.ts';
import type { WorkQuestion } from './work-watch.ts';
import { isPausedSql } from './pause-sql.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** The largest number of sessions of a lane in one round. */
export const STALE_RINGS_MAX = 500;

/** How many sessions of a lane may be selected. */
export interface LaneRoom {
  lane: Lane;
  room: number;
}

export interface StaleRing extends NeededRing {
  /** True when the session became free or due after its last ring, which is certainly spent. */
  isAbandoned: boolean;
}

interface StaleRings {
  stale: StaleRing[];
  nextInMs: number | null;
}

/**
 * Selects old rings, for each lane the oldest and at most as many as it has free slots, and updates
 * them, so that the next round selects others; several reconcilers share the work. `ringNo` is the
 * last one that was rung. Also returns the milliseconds until the next known deadline (a lease that
 * expires, a session that becomes due), or null.
 */
export const selectStaleRings = literalQuery({
  name: 'reconcile',
  purpose:
    'Select old rings and mark them as rung. Answers them as one list, and in how many milliseconds the next one is due.',
  locking: 'The doorbells, skipping those that are locked.',
  // Sent again, it would not select what it has marked; the next round does, after a while.
  retryMs: 0,
  text: `with open as materialized (
  select *, rung_at < free_at as is_abandoned,
    case when rung_at >= free_at then rung_at + $staleAfterMs * interval '1 millisecond' else free_at end as moment
  from (
    select d.session_id, d.lane, d.rung_at, greatest(d.due_at, s.lease_expires_at) as free_at
    from holdfast.doorbells d join holdfast.sessions s on s.id = d.session_id
    where d.due_at <= statement_timestamp() and not ${isPausedSql('s')}
  ) as bells
),
next_due as materialized (
  select d.due_at as moment from holdfast.doorbells d where d.due_at > statement_timestamp() order by d.due_at limit 1
),
due as materialized (
  select open.*, row_number() over (partition by open.lane order by open.moment) as place from open
  where open.moment <= clock_timestamp()
),
taken as (
  select d.session_id, due.is_abandoned from holdfast.doorbells d join due on due.session_id = d.session_id
  join unnest($lanes::text[], $rooms::int[]) as lanes (lane, room) on lanes.lane = due.lane
  where d.rung_at = due.rung_at and due.place <= lanes.room
  order by due.moment limit ${STALE_RINGS_MAX} for update of d skip locked
),
touched as (
  update holdfast.doorbells d set rung_at = clock_timestamp() from taken where d.session_id = taken.session_id
  returning d.session_id, d.lane, d.rings, taken.is_abandoned
)
select coalesce((select json_agg(json_build_object('sessionId', session_id, 'lane', lane, 'ringNo', rings, 'isAbandoned', is_abandoned))
    from touched), '[]') as stale,
  (select greatest(0, extract(epoch from min(moment) - clock_timestamp()) * 1000)::float8 from (
      select moment from open where moment > clock_timestamp() union all select moment from next_due) as coming
    having count(*) > 0) as "nextInMs"`,
  values: ({ staleAfterMs, lanes }: { staleAfterMs: number; lanes: LaneRoom[] }) => ({
    staleAfterMs,
    lanes: lanes.map(({ lane }) => lane),
    rooms: lanes.map(({ room }) => room),
  }),
  // The final select has one row.
  answer: ([selected]: StaleRings[]) => selected!,
});

/** Whether the work of a session is due within so many milliseconds. */
export function ringWork(withinMs: number): WorkQuestion {
  return {
    sql: `exists (select from holdfast.doorbells d where d.due_at <= statement_timestamp() + $withinMs::float8 * interval '1 millisecond')`,
    values: () => ({ withinMs }),
  };
}

/**
 * Leaves out the sessions for which another process has rung meanwhile, or that a worker has
 * claimed; resolves with how many are rung for.
 */
export const countRings = literalQuery({
  name: 'count-rings',
  purpose:
    'Count a ring of each doorbell that still has the given number and whose session no worker holds. Answers the rings.',
  locking: 'The doorbells.',
  // Sent again, it would not answer the rings that it has counted.
  retryMs: 0,
  text: `update holdfast.doorbells d set rings = d.rings + 1, rung_at = clock_timestamp()
from unnest($1::uuid[], $2::bigint[]) as stale (session_id, rings) join holdfast.sessions s on s.id = stale.session_id
where d.session_id = stale.session_id and d.rings = stale.rings and coalesce(s.lease_expires_at <= clock_timestamp(), true)
returning d.session_id, d.lane, d.rings`,
  values: (stale: NeededRing[]) => [stale.map(({ sessionId }) => sessionId), stale.map(({ ringNo }) => ringNo)],
  answer(rows: ({ session_id: SessionId } & RungColumns)[]): Committed<{ rings: number }> {
    const rings = rows.flatMap((row) => buildRings('inbound', row.session_id, row));
    return { rings: rings.length, after: { changed: [], rings } };
  },
});
