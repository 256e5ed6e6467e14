-- park-turn
-- Purpose: Park each turn. Answers a row per write, with the ring of its session.
-- Locking: The session rows in the order of their ids, then rows that belong to them.
-- Options: none (of entries, model_calls, tool_intents, tool_results, requests, events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_parks json
prepare "park-turn" (json, uuid[], json) as
/* park-turn */
with head as (
  select n, session_id, epoch, base_seq, added, turn_id, calls, retries, steps, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micros, unpriced_calls, is_simulated, session_view::json
  from json_to_recordset($1::json) as records (n int, session_id uuid, epoch bigint, base_seq bigint, added int, turn_id uuid, calls int, retries int, steps int, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, cost_micros bigint, unpriced_calls int, is_simulated boolean, session_view text)
),
locked as materialized (
  select s.id, s.epoch, s.turn_id, s.entry_seq, s.leaf_seq, s.transcript_no, s.stop_kind, s.stop_reason, s.waiting, s.steer_seq, s.inbox_seq,
    s.run_id
  from holdfast.sessions s where s.id = any ($2::uuid[]) order by s.id for no key update
),
verdict as materialized (
  select head.n, s.epoch = head.epoch and s.turn_id = head.turn_id
      and s.entry_seq in (head.base_seq, head.base_seq + head.added) as is_ok,
    s.epoch = head.epoch and s.turn_id = head.turn_id and s.entry_seq = head.base_seq as is_new,
    case when s.stop_reason is not null
    then json_build_object('kind', coalesce(s.stop_kind, 'stopped'), 'message', s.stop_reason) end as stop, s.waiting, s.steer_seq
  from head join locked s on s.id = head.session_id
),
fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq
  from head join verdict on verdict.n = head.n and verdict.is_new join locked s on s.id = head.session_id
),
new_parks as (
  select n, code, text, by, delay_ms, not_before_ms, parks, held_seq
  from json_to_recordset($3::json) as records (n int, code text, text text, by text, delay_ms bigint, not_before_ms bigint, parks int, held_seq bigint)
),
tail as materialized (
  select new_parks.*, fence.session_id, fence.turn_id, fence.calls from new_parks join fence on fence.n = new_parks.n
  join holdfast.turns t on t.id = fence.turn_id and t.status <> 'parked'
),
waiting_requests as (select null::uuid as turn_id where false),
parked_turns as (
  update holdfast.turns t
  set status = 'parked', park_code = tail.code, park_text = tail.text, park_by = tail.by, parks = tail.parks,
    park_since = case when tail.parks = 1 then clock_timestamp() else coalesce(t.park_since, clock_timestamp()) end,
    park_not_before = clock_timestamp() + tail.not_before_ms * interval '1 millisecond', calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated
  from fence join tail on tail.n = fence.n where t.id = fence.turn_id
),
released_sessions as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, updated_at = clock_timestamp(), view = coalesce(fence.session_view, s.view)
  from fence join tail on tail.n = fence.n where s.id = fence.session_id
  returning s.id, s.lane, s.inbox_seq, s.epoch, case
      when s.stop_reason is not null or s.held_seq <> tail.held_seq
        or tail.code = 'provider_batch' and tail.turn_id not in (select turn_id from waiting_requests) then 0
      else tail.delay_ms
    end as delay_ms
),
rung_doorbells as (
  insert into holdfast.doorbells as d (session_id, lane, rings, due_at)
  select s.id, s.lane, ((s.inbox_seq + s.epoch) << 20), clock_timestamp() + s.delay_ms * interval '1 millisecond'
  from released_sessions s where s.delay_ms is not null order by s.id
  on conflict (session_id) do update set rings = d.rings + 1, rung_at = clock_timestamp(), woken_at = null, due_at = excluded.due_at
  returning d.session_id, d.lane, d.rings
),
deleted_doorbells as (
  delete from holdfast.doorbells d using released_sessions where d.session_id = released_sessions.id and released_sessions.delay_ms is null
)
select head.n, verdict.is_ok, head.session_id, rung_doorbells.lane, rung_doorbells.rings, released_sessions.delay_ms
from head left join verdict on verdict.n = head.n left join released_sessions on released_sessions.id = head.session_id
left join rung_doorbells on rung_doorbells.session_id = head.session_id
;
