-- commit-step
-- Purpose: Store one step of each turn. Answers a verdict per write.
-- Locking: The session rows in the order of their ids.
-- Options: entries, model_calls, tool_intents, tool_results, holds, steers, events (of entries, model_calls, tool_intents, tool_results, holds, steers, events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_entries json, $4 new_calls json, $5 new_intents json, $6 new_results json, $7 new_holds json, $8 new_hold_events json, $9 joining_messages json, $10 new_followups json, $11 new_events json
prepare "commit-step" (json, uuid[], json, json, json, json, json, json, json, json, json) as
/* commit-step */
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
new_holds as (
  select n, step, ordinal, call_id, name, is_idempotent, code, for_ms, is_noticed
  from json_to_recordset($7::json) as records (n int, step int, ordinal int, call_id text, name text, is_idempotent boolean, code text, for_ms bigint, is_noticed boolean)
),
stored_holds as (
  insert into holdfast.tool_calls as c (turn_id, step, ordinal, call_id, name, is_idempotent, status, epoch, runs, held_for, held_until)
  select fence.turn_id, h.step, h.ordinal, h.call_id, h.name, h.is_idempotent, 'intent', fence.epoch, 0, h.code, statement_timestamp() + h.for_ms * interval '1 millisecond'
  from new_holds h join fence on fence.n = h.n
  on conflict (turn_id, step, ordinal) do update set runs = 0, held_for = excluded.held_for, held_until = excluded.held_until
    where c.status = 'intent' and c.runs > 0
  returning turn_id, step, ordinal
),
stored_notices as (
  insert into holdfast.held_notices (turn_id, step, ordinal, code)
  select stored.turn_id, stored.step, stored.ordinal, h.code from new_holds h join fence on fence.n = h.n
  join stored_holds stored on stored.turn_id = fence.turn_id and stored.step = h.step and stored.ordinal = h.ordinal
  where h.is_noticed
),
new_hold_events as (
  select n, pos, step, ordinal, type, data::json
  from json_to_recordset($8::json) as records (n int, pos int, step int, ordinal int, type text, data text)
),
inserted_hold_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + 32768 + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n from new_hold_events e join fence on fence.n = e.n
      join stored_holds h on h.turn_id = fence.turn_id and h.step = e.step and h.ordinal = e.ordinal) as source) as happened
),
joining_messages as (
  select n, id
  from json_to_recordset($9::json) as records (n int, id uuid)
),
steered as (
  update holdfast.inbox i set status = 'claimed', turn_id = fence.turn_id
  from joining_messages m join fence on fence.n = m.n
  where i.id = m.id and i.status = 'waiting'
  returning i.session_id
),
new_followups as (
  select n, pos, id, cause_key, body::json, route
  from json_to_recordset($10::json) as records (n int, pos int, id uuid, cause_key text, body text, route text)
),
followed as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, cause_key)
  select f.id, fence.session_id, locked.inbox_seq + f.pos, 'followup', f.body, f.route, f.cause_key
  from new_followups f join fence on fence.n = f.n join locked on locked.id = fence.session_id
  on conflict do nothing
  returning session_id
),
progressed_turns as (
  update holdfast.turns t
  set status = 'running', park_code = case when t.steps = fence.steps then t.park_code end, calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated
  from fence where t.id = fence.turn_id
),
updated_sessions as (
  update holdfast.sessions s
  set entry_seq = fence.base_seq + fence.added, updated_at = clock_timestamp(),
    leaf_seq = case when fence.added > 0 then fence.base_seq + fence.added else s.leaf_seq end, view = coalesce(fence.session_view, s.view),
    waiting = s.waiting - (select count(*) from steered where steered.session_id = s.id)::int
      + (select count(*) from followed where followed.session_id = s.id)::int,
    inbox_seq = s.inbox_seq + (select count(*) from followed where followed.session_id = s.id)
  from fence where s.id = fence.session_id
),
new_events as (
  select n, pos, type, data::json
  from json_to_recordset($11::json) as records (n int, pos int, type text, data text)
),
step_events as (
  select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
  from new_events e join fence on fence.n = e.n
  where fence.added > 0 or exists (select from holdfast.turns t where t.id = fence.turn_id and t.calls < fence.calls)
    or exists (select from stored_calls c where c.turn_id = fence.turn_id)
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from step_events) as source) as happened
)
select n, is_ok, stop, waiting, steer_seq from verdict order by n
;
