// Control: what stops a session from outside. It never waits in a queue: the wish is written into the session row, where the
// worker that runs it looks several times a second and at every step (G24).
import type { TurnId } from '../core/ids.ts';
import type { Database } from './database.ts';
import { insertEventsSql } from './events.ts';
import { firstRingSql, type NeededRing } from './session-locks.ts';

export interface Abortion {
  /** The turn that is being stopped; null when none runs. */
  aborted: TurnId | null;
  /** How many waiting messages were cancelled. */
  cancelled: number;
  /** Calls a worker that ends the turn, when nobody runs it right now. */
  ring: NeededRing | null;
}

/**
 * Stops the running turn of a session and cancels what waits, or keeps it. Cancelled rows stay visible. Returns null when
 * there is no such session.
 */
export async function abortSession(
  database: Database,
  input: { sessionKey: string; keepQueued: boolean; reason?: string },
): Promise<Abortion | null> {
  const result = await database.hot.query({
    name: 'abort-session',
    text: `/* abort-session */
with locked as materialized (
  select s.* from holdfast.sessions s where s.key = $1 for no key update
),
cancelled as (
  update holdfast.inbox i set status = 'cancelled', settled_at = clock_timestamp(),
    error = json_build_object('code', 'aborted', 'message', 'Cancelled before it was taken: ' || $3::text)
  from locked where not $2::boolean and i.session_id = locked.id and i.status = 'waiting'
  returning i.id, i.seq, i.session_id, i.status
),
moved as (
  update holdfast.sessions s
  set stop_reason = case when s.turn_id is not null or s.owner is not null then $3::text end,
    waiting = s.waiting - (select count(*) from cancelled)::int, updated_at = clock_timestamp()
  from locked where s.id = locked.id
  returning s.id, s.turn_id, s.owner, s.waiting
),
hushed as (
  delete from holdfast.doorbells d using moved
  where d.session_id = moved.id and moved.waiting = 0 and moved.turn_id is null and moved.owner is null
),
rung as (
  update holdfast.doorbells d set rings = d.rings + 1, rung_at = now(), due_at = least(d.due_at, now())
  from moved where d.session_id = moved.id and moved.turn_id is not null and moved.owner is null
  returning d.session_id, d.lane, d.rings
),
told as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.settled' as type,
    json_build_object('messageId', id, 'status', status) as data, seq as n from cancelled`)}
)
select moved.turn_id, (select count(*) from cancelled)::int as cancelled, rung.session_id, rung.lane, rung.rings
from moved left join rung on rung.session_id = moved.id`,
    values: [input.sessionKey, input.keepQueued, input.reason ?? 'stopped by the user'],
  });
  const row = result.rows[0];
  if (row === undefined) return null;
  const ring = row.rings === null ? null : { sessionId: row.session_id, lane: row.lane, ringNo: Number(row.rings) };
  return { aborted: row.turn_id, cancelled: row.cancelled, ring };
}

/** Stops one turn, if it still runs; what waits in its session stays. Null when it has ended or does not exist. */
export async function abortTurn(
  database: Database,
  turnId: string,
  reason = 'stopped by the user',
): Promise<{ sessionId: string; ring: NeededRing | null } | null> {
  const result = await database.hot.query({
    name: 'abort-turn',
    text: `/* abort-turn */
with moved as (
  update holdfast.sessions s set stop_reason = $2, updated_at = clock_timestamp()
  from holdfast.turns t where t.id = $1 and s.id = t.session_id and s.turn_id = t.id
  returning s.id, s.owner
),
rung as (
  update holdfast.doorbells d set rings = d.rings + 1, rung_at = now(), due_at = least(d.due_at, now())
  from moved where d.session_id = moved.id and moved.owner is null
  returning d.session_id, d.lane, d.rings
)
select moved.id, rung.lane, rung.rings from moved left join rung on rung.session_id = moved.id`,
    values: [turnId, reason],
  });
  const row = result.rows[0];
  if (row === undefined) return null;
  const ring = row.rings === null ? null : { sessionId: row.id, lane: row.lane, ringNo: Number(row.rings) };
  return { sessionId: row.id, ring };
}

/**
 * Lets the messages of a turn that ended badly wait again, as they were. Its entries are hidden, not deleted, so that each
 * message is still one input of the transcript. `conflict`: the turn ended well, runs, or is not the last of its session.
 */
export async function retryTurn(
  database: Database,
  turnId: string,
): Promise<{ kind: 'ok'; sessionId: string; lane: string; ringNo: number | null } | { kind: 'conflict' | 'unknown' }> {
  const result = await database.hot.query({
    name: 'retry-turn',
    text: `/* retry-turn */
with turn as materialized (select t.* from holdfast.turns t where t.id = $1),
locked as materialized (
  select s.* from holdfast.sessions s join turn on s.id = turn.session_id for no key update of s
),
fit as materialized (
  select locked.*, turn.id as retried_id, turn.prompt_seq from locked join turn on turn.session_id = locked.id
  where turn.status in ('failed', 'aborted', 'timedOut') and locked.turn_id is null
    and not exists (select from holdfast.turns later where later.session_id = locked.id and later.id > turn.id)
),
again as (
  update holdfast.inbox i set status = 'waiting', turn_id = null, error = null, settled_at = null
  from fit where i.turn_id = fit.retried_id
  returning i.id, i.session_id
),
hidden as (
  update holdfast.entries e set state = 'hidden' from fit where e.session_id = fit.id and e.turn_id = fit.retried_id
),
moved as (
  update holdfast.sessions s
  set waiting = s.waiting + (select count(*) from again)::int, transcript_version = s.transcript_version + 1,
    leaf_seq = case when s.leaf_seq >= fit.prompt_seq
      then (select e.parent_seq from holdfast.entries e where e.session_id = fit.id and e.seq = fit.prompt_seq)
      else s.leaf_seq end,
    updated_at = clock_timestamp()
  from fit where s.id = fit.id
  returning s.*
),
rung as (
  insert into holdfast.doorbells (session_id, lane, rings) select id, lane, ${firstRingSql('moved')} from moved
  on conflict (session_id) do nothing returning session_id, rings
)
select turn.session_id, moved.id is not null as is_ok, moved.lane, rung.rings
from turn left join moved on moved.id = turn.session_id left join rung on rung.session_id = turn.session_id`,
    values: [turnId],
  });
  const row = result.rows[0];
  if (row === undefined) return { kind: 'unknown' };
  if (!row.is_ok) return { kind: 'conflict' };
  return {
    kind: 'ok',
    sessionId: row.session_id,
    lane: row.lane,
    ringNo: row.rings === null ? null : Number(row.rings),
  };
}
