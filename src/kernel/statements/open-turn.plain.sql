-- open-turn
-- Purpose: Open each turn. Answers a verdict per turn.
-- Locking: The session rows in the order of their ids, then the inputs that they are stamped on.
-- Options: none (of system_events, overflow, snapshots, hidden_entries)
-- Parameters: $1 head json, $2 sessions uuid[], $3 input_ids json, $4 new_events json
prepare "open-turn" (json, uuid[], json, json) as
/* open-turn */
with head as (
  select n, session_id, epoch, base_seq, turn_id, kind, lane, worker, model, thinking, prompt_id, prompt::json, system_sha256, tools_sha256, queued_at, claimed_at, parts::json, view::json, session_view::json, provenance::json, hidden_from, overflowed, tags::json
  from json_to_recordset($1::json) as records (n int, session_id uuid, epoch bigint, base_seq bigint, turn_id uuid, kind text, lane text, worker text, model text, thinking text, prompt_id uuid, prompt text, system_sha256 text, tools_sha256 text, queued_at timestamptz, claimed_at timestamptz, parts text, view text, session_view text, provenance text, hidden_from bigint, overflowed int, tags text)
),
locked as materialized (
  select s.id, s.epoch, s.turn_id, s.entry_seq, s.leaf_seq, s.transcript_no, s.stop_reason
  from holdfast.sessions s where s.id = any ($2::uuid[]) order by s.id for no key update
),
verdict as materialized (
  select head.n, case
      when s.epoch <> head.epoch then 'fenced'
      when s.turn_id = head.turn_id then 'ok'
      when s.turn_id is not null or s.entry_seq <> head.base_seq then 'fenced'
      when s.stop_reason is not null then 'stopped'
      else 'new'
    end as verdict
  from head join locked s on s.id = head.session_id
),
fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq
  from head join verdict on verdict.n = head.n and verdict.verdict = 'new' join locked s on s.id = head.session_id
),
opened_turns as (
  insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, thinking, prompt_seq, system_sha256,
    tools_sha256, queued_at, claimed_at, view, tags)
  select turn_id, session_id, kind, lane, 'running', epoch, worker, model, thinking, base_seq + 1, system_sha256, tools_sha256,
    queued_at, claimed_at, view, tags::jsonb from fence
),
inserted_prompts as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, parts, provenance)
  select session_id, base_seq + 1, prompt_id, transcript_no,
    case when hidden_from is null then leaf_seq
      else (select e.parent_seq from holdfast.entries e where e.session_id = fence.session_id and e.seq = hidden_from) end,
    'prompt', 'user', prompt, turn_id, parts, provenance
  from fence where prompt_id is not null
),
input_ids as (
  select n, id
  from json_to_recordset($3::json) as records (n int, id uuid)
),
claimed_inputs as (
  update holdfast.inbox i set status = 'claimed', turn_id = fence.turn_id
  from input_ids join fence on fence.n = input_ids.n
  where i.id = input_ids.id and i.status = 'waiting'
  returning i.session_id
),
updated_sessions as (
  update holdfast.sessions s
  set turn_id = fence.turn_id, lost_claims = 0, crowd_claims = 0, updated_at = clock_timestamp(),
    waiting = s.waiting - (select count(*) from claimed_inputs c where c.session_id = s.id)::int,
    entry_seq = fence.base_seq + case when fence.prompt_id is null then 0 else 1 end,
    leaf_seq = case when fence.prompt_id is null then s.leaf_seq else fence.base_seq + 1 end,
    -- The hint and the memory of the last event are used up by a prompt.
    was_aborted = s.was_aborted and fence.prompt_id is null,
    last_event_text = case when fence.prompt_id is null then s.last_event_text end,
    view = coalesce(fence.session_view, s.view), overflowed = s.overflowed - fence.overflowed,
    transcript_version = s.transcript_version + case when fence.hidden_from is null then 0 else 1 end
  from fence where s.id = fence.session_id
),
new_events as (
  select n, pos, type, data::json
  from json_to_recordset($4::json) as records (n int, pos int, type text, data text)
),
journal_events as (
  select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
  from new_events e join fence on fence.n = e.n
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from journal_events) as source) as happened
)
select n, verdict from verdict
;
