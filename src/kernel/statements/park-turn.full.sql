-- park-turn
-- Purpose: Park each turn. Answers a row per write, with the ring of its session.
-- Locking: The session rows in the order of their ids, then rows that belong to them.
-- Options: entries, model_calls, tool_intents, tool_results, requests, events (of entries, model_calls, tool_intents, tool_results, requests, events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_entries json, $4 new_calls json, $5 new_intents json, $6 new_results json, $7 new_parks json, $8 new_events json
prepare "park-turn" (json, uuid[], json, json, json, json, json, json) as
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
new_entries as (
  select n, pos, id, kind, role, content::json, is_pruned, provenance::json
  from json_to_recordset($3::json) as records (n int, pos int, id uuid, kind text, role text, content text, is_pruned boolean, provenance text)
),
stored_entries as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, state, retired_seq, provenance)
  select fence.session_id, fence.base_seq + e.pos, e.id, fence.transcript_no,
    case when e.pos = 1 then fence.leaf_seq else fence.base_seq + e.pos - 1 end, e.kind, e.role, e.content, fence.turn_id,
    case when e.is_pruned then 'pruned' else 'active' end, case when e.is_pruned then fence.base_seq + e.pos end, e.provenance
  from new_entries e join fence on fence.n = e.n
),
new_calls as (
  select n, call_no, step, until_seq, status, stop_reason, response_id, error::json, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, started_at, first_chunk_at, ended_at, purpose, view::json, request_sha256, model, cost_micros, price_version, tier, cache_write_1h_tokens, is_estimated, is_simulated, notes::json
  from json_to_recordset($4::json) as records (n int, call_no int, step int, until_seq bigint, status text, stop_reason text, response_id text, error text, input_tokens bigint, output_tokens bigint, cache_read_tokens bigint, cache_write_tokens bigint, started_at timestamptz, first_chunk_at timestamptz, ended_at timestamptz, purpose text, view text, request_sha256 text, model text, cost_micros bigint, price_version text, tier text, cache_write_1h_tokens bigint, is_estimated boolean, is_simulated boolean, notes text)
),
stored_calls as (
  insert into holdfast.model_calls (turn_id, call_no, step, epoch, until_seq, status, stop_reason, response_id, error,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, started_at, first_chunk_at, ended_at, purpose,
    view, request_sha256, notes, model, cost_micros, price_version, tier, cache_write_1h_tokens, is_estimated, is_simulated)
  select fence.turn_id, c.call_no, c.step, fence.epoch, c.until_seq, c.status, c.stop_reason, c.response_id, c.error,
    c.input_tokens, c.output_tokens, c.cache_read_tokens, c.cache_write_tokens, c.started_at, c.first_chunk_at, c.ended_at,
    c.purpose, c.view, c.request_sha256, c.notes, c.model, c.cost_micros, c.price_version, c.tier, c.cache_write_1h_tokens,
    c.is_estimated, c.is_simulated
  from new_calls c join fence on fence.n = c.n
  on conflict (turn_id, call_no) do nothing
  returning turn_id
),
new_intents as (
  select n, step, ordinal, call_id, name, is_idempotent, status
  from json_to_recordset($5::json) as records (n int, step int, ordinal int, call_id text, name text, is_idempotent boolean, status text)
),
stored_intents as (
  insert into holdfast.tool_calls (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch, ended_at)
  select fence.turn_id, i.step, i.ordinal, i.call_id, i.name, i.is_idempotent, i.status, fence.epoch,
    case when i.status <> 'intent' then clock_timestamp() end
  from new_intents i join fence on fence.n = i.n
  on conflict (turn_id, step, ordinal) do update set runs = tool_calls.runs + 1, epoch = excluded.epoch
),
new_results as (
  select n, step, ordinal, status, result::json
  from json_to_recordset($6::json) as records (n int, step int, ordinal int, status text, result text)
),
settled_calls as (
  update holdfast.tool_calls t
  set status = c.status, result = c.result, ended_at = coalesce(t.ended_at, clock_timestamp())
  from new_results c join fence on fence.n = c.n
  where t.turn_id = fence.turn_id and t.step = c.step and t.ordinal = c.ordinal
),
new_parks as (
  select n, code, text, by, delay_ms, not_before_ms, parks, held_seq
  from json_to_recordset($7::json) as records (n int, code text, text text, by text, delay_ms bigint, not_before_ms bigint, parks int, held_seq bigint)
),
tail as materialized (
  select new_parks.*, fence.session_id, fence.turn_id, fence.calls from new_parks join fence on fence.n = new_parks.n
  join holdfast.turns t on t.id = fence.turn_id and t.status <> 'parked'
),
waiting_requests as materialized (
  select r.turn_id from holdfast.provider_requests r
  where (r.turn_id, r.call_no) in (select tail.turn_id, tail.calls from tail where tail.code = 'provider_batch') and r.status in ('queued', 'assigned')
  for update of r
),
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
),
new_events as (
  select n, pos, type, data::json
  from json_to_recordset($8::json) as records (n int, pos int, type text, data text)
),
park_events as (
  select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
  from new_events e join fence on fence.n = e.n join tail on tail.n = fence.n
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from park_events) as source) as happened
)
select head.n, verdict.is_ok, head.session_id, rung_doorbells.lane, rung_doorbells.rings, released_sessions.delay_ms
from head left join verdict on verdict.n = head.n left join released_sessions on released_sessions.id = head.session_id
left join rung_doorbells on rung_doorbells.session_id = head.session_id
;
