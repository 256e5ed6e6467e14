-- begin-compaction
-- Purpose: Begin a compaction, or say why not. Answers one row.
-- Locking: The session row.
-- Options: entries, model_calls, tool_intents, tool_results (of entries, model_calls, tool_intents, tool_results)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_entries json, $4 new_calls json, $5 new_intents json, $6 new_results json, $7 new_compactions json
prepare "begin-compaction" (json, uuid[], json, json, json, json, json) as
/* begin-compaction */
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
new_compactions as (
  select id, reason, tokens_before, attempts_max
  from json_to_recordset($7::json) as records (id uuid, reason text, tokens_before bigint, attempts_max int)
),
own as materialized (
  select c.id, c.attempt from holdfast.compactions c join new_compactions added on added.id = c.id
),
answered as materialized (
  select c.* from holdfast.compactions c join fence on c.turn_id = fence.turn_id join new_compactions added on c.id <> added.id
  where c.status = 'running' and c.summary is not null order by c.id desc limit 1
),
counted as materialized (
  select count(*)::int as failed from holdfast.compactions c join fence on c.turn_id = fence.turn_id join new_compactions added on c.id <> added.id
  where c.status in ('running', 'failed', 'timedOut') and coalesce(c.error ->> 'code', '') not in ('model_away', 'rate_limited', 'model_blocked')
),
cycle as materialized (
  select exists (
    select from holdfast.compactions c join fence on c.session_id = fence.session_id
    where c.memory is not null and c.status not in ('completed', 'restored') and c.id > coalesce((
      select done.id from holdfast.compactions done
      where done.session_id = fence.session_id and done.status in ('completed', 'restored') order by done.id desc limit 1
    ), '00000000-0000-0000-0000-000000000000')
  ) as has_flushed
),
judged as materialized (
  select fence.*, added.id, added.reason, added.tokens_before, counted.failed + 1 as attempt, case
      when exists (select from own) then 'begun'
      when exists (select from answered) then 'answered'
      when counted.failed >= added.attempts_max then 'exhausted'
      else 'begun'
    end as verdict
  from fence, new_compactions added, counted
),
begun as (
  insert into holdfast.compactions (id, session_id, transcript_no, turn_id, reason, attempt, tokens_before)
  select id, session_id, transcript_no, turn_id, reason, attempt, tokens_before from judged where verdict = 'begun'
  on conflict (id) do nothing
  returning id, session_id, turn_id, reason, attempt, tokens_before
),
given_up as (
  update holdfast.compactions c set status = 'failed', ended_at = clock_timestamp(),
    error = json_build_object('code', 'interrupted', 'message', 'Its worker stopped before the compaction was done.')
  from judged
  where c.session_id = judged.session_id and c.status = 'running' and c.id <> judged.id and judged.verdict <> 'answered'
),
progressed as (
  update holdfast.turns t set status = 'running', calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated
  from judged as fence where t.id = fence.turn_id and fence.verdict = 'begun'
),
updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp() from judged where s.id = judged.session_id
),
begun_events as (
  select session_id, turn_id, 'compaction.started' as type, json_build_object('compactionId', id,
    'reason', reason, 'attempt', attempt, 'tokensBefore', tokens_before) as data, 1 as n from begun
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from begun_events) as source) as happened
)
select verdict.is_ok, verdict.stop, judged.verdict, coalesce(own.attempt, judged.attempt) as attempt, not cycle.has_flushed as may_flush,
  case when judged.verdict = 'answered' then json_build_object('id', answered.id, 'firstKeptSeq', answered.first_kept_seq,
    'pinnedSeqs', answered.pinned_seqs, 'summary', answered.summary, 'memory', answered.memory,
    'tokensBefore', answered.tokens_before) end as compaction
from verdict left join judged on true left join own on true left join answered on true left join cycle on true
;
