-- store-request
-- Purpose: Charge a call of each turn and store its request to a batch of the provider. Answers the writes that may be applied.
-- Locking: The session rows in the order of their ids.
-- Options: none (of events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_requests json
prepare "store-request" (json, uuid[], json) as
/* store-request */
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
new_requests as (
  select n, call_no, model, batch_id, params, params_bytes, params_sha256, leave_at, fallback, hop, reason, cache, live_share
  from json_to_recordset($3::json) as records (n int, call_no int, model text, batch_id uuid, params text, params_bytes int, params_sha256 text, leave_at timestamptz, fallback text, hop int, reason text, cache text, live_share real)
),
stored_requests as (
  insert into holdfast.provider_requests (turn_id, call_no, session_id, batch_id, model, params, params_bytes, params_sha256, leave_at, fallback,
    hop, reason, cache, live_share)
  select fence.turn_id, r.call_no, fence.session_id, r.batch_id, r.model, decode(r.params, 'base64'), r.params_bytes, r.params_sha256, r.leave_at,
    r.fallback, r.hop, r.reason, r.cache, r.live_share
  from new_requests r join fence on fence.n = r.n
  on conflict (turn_id, call_no) do nothing
  returning turn_id
),
charged_turns as (
  update holdfast.turns t set calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated
  from fence join stored_requests on stored_requests.turn_id = fence.turn_id where t.id = fence.turn_id
),
updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp(), view = coalesce(fence.session_view, s.view) from fence where s.id = fence.session_id
)
select n from verdict where is_ok
;
