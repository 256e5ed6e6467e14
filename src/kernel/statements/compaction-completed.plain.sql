-- compaction-completed
-- Purpose: Make the summary an entry in place of those that it retires. Answers one row.
-- Locking: The session row, then rows that belong to it.
-- Options: none (of entries, model_calls, tool_intents, tool_results, snapshots, refresh, events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 compaction_step json, $4 pinned_seqs bigint[]
prepare "compaction-completed" (json, uuid[], json, bigint[]) as
/* compaction-completed */
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
compaction_step as (
  select id, first_kept_seq, tokens_after, audit::json
  from json_to_recordset($3::json) as records (id uuid, first_kept_seq bigint, tokens_after bigint, audit text)
),
updated_compactions as (
  update holdfast.compactions c set status = 'completed', first_kept_seq = compaction_step.first_kept_seq, pinned_seqs = $4::bigint[], summary = null,
    summary_seq = fence.base_seq + 1, tokens_after = compaction_step.tokens_after, audit = compaction_step.audit, ended_at = clock_timestamp()
  from fence, compaction_step where c.id = compaction_step.id and c.status = 'running'
  returning c.id, c.session_id, c.turn_id, c.status, c.tokens_before, c.tokens_after, c.error
),
retired_entries as (
  update holdfast.entries e set state = 'compacted', retired_seq = fence.base_seq + 1
  from fence, compaction_step
  where e.session_id = fence.session_id and e.transcript_no = fence.transcript_no and e.state = 'active'
    and e.seq <= fence.base_seq and (e.seq < compaction_step.first_kept_seq or e.kind = 'summary') and e.seq <> all ($4::bigint[])
),
progressed_turns as (
  update holdfast.turns t set status = 'running', calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated from fence where t.id = fence.turn_id
),
updated_sessions as (
  update holdfast.sessions s
  set updated_at = clock_timestamp(), entry_seq = fence.base_seq + 1, leaf_seq = fence.base_seq + 1,
    transcript_version = s.transcript_version + 1, context_tokens = compaction_step.tokens_after, view = coalesce(fence.session_view, s.view)
  from fence, compaction_step where s.id = fence.session_id
  returning s.id, s.transcript_version
),
journal_events as (select null::uuid as session_id, null::uuid as turn_id, null::text as type, null::json as data, 0 as n where false),
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
