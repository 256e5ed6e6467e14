-- commit-step
-- Purpose: Store one step of each turn. Answers a verdict per write.
-- Locking: The session rows in the order of their ids.
-- Options: none (of entries, model_calls, tool_intents, tool_results, holds, steers, events)
-- Parameters: $1 head json, $2 sessions uuid[]
prepare "commit-step" (json, uuid[]) as
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
steered as (select null::uuid as session_id where false),
followed as (select null::uuid as session_id where false),
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
)
select n, is_ok, stop, waiting, steer_seq from verdict order by n
;
