-- compaction-failed
-- Purpose: End a compaction without success; the transcript is unchanged. Answers one row.
-- Locking: The session row, then rows that belong to it.
-- Options: entries, model_calls, tool_intents, tool_results, snapshots, events (of entries, model_calls, tool_intents, tool_results, snapshots, events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_entries json, $4 new_calls json, $5 new_intents json, $6 new_results json, $7 new_snapshots json, $8 compaction_step json, $9 new_events json
prepare "compaction-failed" (json, uuid[], json, json, json, json, json, json, json) as
/* compaction-failed */
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
new_snapshots as (
  select sha256, content::json
  from json_to_recordset($7::json) as records (sha256 text, content text)
),
inserted_snapshots as (
  insert into holdfast.snapshots (sha256, content)
  select new_snapshots.* from new_snapshots where exists (select from fence)
  on conflict do nothing
),
compaction_step as (
  select id, status, error::json
  from json_to_recordset($8::json) as records (id uuid, status text, error text)
),
updated_compactions as (
  update holdfast.compactions c set status = compaction_step.status, error = compaction_step.error, ended_at = clock_timestamp()
  from fence, compaction_step where c.id = compaction_step.id and c.status = 'running'
  returning c.id, c.session_id, c.turn_id, c.status, c.tokens_before, c.tokens_after, c.error
),
progressed_turns as (
  update holdfast.turns t set status = 'running', calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated from fence where t.id = fence.turn_id
),
updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp(), view = coalesce(fence.session_view, s.view)
  from fence where s.id = fence.session_id
  returning s.id, s.transcript_version
),
new_events as (
  select n, pos, type, data::json
  from json_to_recordset($9::json) as records (n int, pos int, type text, data text)
),
journal_events as (
  select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
  from new_events e join fence on fence.n = e.n where exists (select from updated_compactions) and exists (select from stored_calls)
),
ended_events as (
  select session_id, turn_id, 'compaction.ended' as type, json_build_object('compactionId', id, 'status', status,
    'tokensBefore', tokens_before, 'tokensAfter', tokens_after, 'error', error) as data, 0 as n from updated_compactions
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from journal_events) as source
    union all select 2 as phase, source.* from (select session_id, turn_id, type, data, n from ended_events) as source) as happened
)
select verdict.is_ok, verdict.stop, coalesce(updated_sessions.transcript_version, s.transcript_version) as version
from verdict left join updated_sessions on true left join holdfast.sessions s on s.id = any ($2::uuid[])
;
