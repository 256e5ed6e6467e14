-- release
-- Purpose: Release locks and leave the turns open. Answers the rings that start them again.
-- Locking: The session rows in the order of their ids, then rows that belong to them.
prepare "release" as
/* release */
with input as materialized (select * from unnest($1::uuid[], $2::bigint[]) as input (session_id, epoch)),
locked as materialized (
  select s.id, s.lane, s.inbox_seq, s.epoch, s.turn_id, s.turn_id is not null or s.waiting > 0 as has_work
  from holdfast.sessions s join input on input.session_id = s.id
  where s.epoch = input.epoch and s.owner is not null order by s.id for no key update of s
),
released_sessions as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, stop_kind = case when s.turn_id is not null then s.stop_kind end,
    stop_reason = case when s.turn_id is not null then s.stop_reason end
  from locked where s.id = locked.id
),
interrupted_turns as (
  update holdfast.turns t set status = 'interrupted' from locked where t.id = locked.turn_id
),
deleted_doorbells as (
  delete from holdfast.doorbells d using locked where d.session_id = locked.id and not locked.has_work
)
insert into holdfast.doorbells as d (session_id, lane, rings, rung_at)
  select s.id, s.lane, ((s.inbox_seq + s.epoch) << 20), now() + (row_number() over () - 1) * 2 * interval '1 millisecond' from locked s where s.has_work
  on conflict (session_id) do update set rings = d.rings + 1, rung_at = excluded.rung_at, due_at = least(d.due_at, now())
  returning d.session_id, d.lane, d.rings
;
