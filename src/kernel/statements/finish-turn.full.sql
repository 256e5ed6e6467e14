-- finish-turn
-- Purpose: End each turn. Answers a row per end, with the rings that it needs.
-- Locking: The session rows in the order of their ids, then rows that belong to them.
-- Options: entries, model_calls, tool_intents, tool_results, returned_inputs, hidden_entries, undone_summaries, deliveries, dead_letters, effects, events (of entries, model_calls, tool_intents, tool_results, returned_inputs, hidden_entries, undone_summaries, deliveries, dead_letters, effects, events)
-- Parameters: $1 head json, $2 sessions uuid[], $3 new_entries json, $4 new_calls json, $5 new_intents json, $6 new_results json, $7 new_ends json, $8 new_deliveries json, $9 new_effects json, $10 new_events json
prepare "finish-turn" (json, uuid[], json, json, json, json, json, json, json, json) as
/* finish-turn */
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
new_ends as (
  select n, status, message_status, reply, answered_model, error::json, was_aborted, context_tokens, deliveries, letter_id, letter_code, letter_reason, debounce_ms, gather_ms_max, cap, steer_seen, ended_type, ended_data::json, hides, hides_from, hides_summary, undoes, announce_debounce_ms, collect_max
  from json_to_recordset($7::json) as records (n int, status text, message_status text, reply text, answered_model text, error text, was_aborted boolean, context_tokens bigint, deliveries int, letter_id uuid, letter_code text, letter_reason text, debounce_ms int, gather_ms_max int, cap int, steer_seen bigint, ended_type text, ended_data text, hides text, hides_from bigint, hides_summary bigint, undoes boolean, announce_debounce_ms int, collect_max int)
),
tail as materialized (
  select new_ends.*, fence.session_id, fence.turn_id,
    case when new_ends.hides is not null then (select t.prompt_seq from holdfast.turns t where t.id = fence.turn_id) end as prompt_seq
  from new_ends join fence on fence.n = new_ends.n
),
ended as (
  update holdfast.turns t
  set status = tail.status, reply = tail.reply, error = tail.error, ended_at = clock_timestamp(),
    model = coalesce(tail.answered_model, t.model), asked_model = case when tail.answered_model is not null then t.model end, calls = fence.calls, retries = fence.retries, steps = fence.steps,
    input_tokens = fence.input_tokens, output_tokens = fence.output_tokens, cache_read_tokens = fence.cache_read_tokens,
    cache_write_tokens = fence.cache_write_tokens, cost_micros = fence.cost_micros, unpriced_calls = fence.unpriced_calls,
    is_simulated = fence.is_simulated
  from fence join tail on tail.n = fence.n where t.id = fence.turn_id
),
settled as (
  update holdfast.inbox i set status = tail.message_status, error = tail.error, settled_at = clock_timestamp()
  from tail where i.turn_id = tail.turn_id and i.status = 'claimed' and tail.collect_max is null
  returning i.session_id, i.turn_id, i.id, i.status, i.seq
),
returned_inputs as (
  update holdfast.inbox i set status = 'waiting', turn_id = null
  from tail where i.turn_id = tail.turn_id and i.status = 'claimed' and tail.collect_max is not null
  returning i.session_id
),
returned_events as (
  update holdfast.system_events e set state = 'queued', turn_id = null, settled_at = null
  from tail where e.session_id = tail.session_id and e.turn_id = tail.turn_id and e.state = 'consumed' and tail.collect_max is not null
),
updated_sessions as (
  update holdfast.sessions s
  set owner = null, lease_expires_at = null, turn_id = null, stop_kind = null, stop_reason = null,
    entry_seq = fence.base_seq + fence.added, updated_at = clock_timestamp(),
    leaf_seq = case
      when tail.hides is not null then (select max(e.seq) from holdfast.entries e
        where e.session_id = s.id and e.transcript_no = s.transcript_no and e.seq is distinct from tail.hides_summary
          and (e.state = 'active' or tail.undoes and e.state = 'compacted' and e.retired_seq = tail.hides_summary)
          and (e.kind = 'summary' or case when tail.hides = 'refused' then e.seq < tail.hides_from else e.turn_id <> fence.turn_id end))
      when fence.added > 0 then fence.base_seq + fence.added
      else s.leaf_seq
    end,
    transcript_version = s.transcript_version + case when tail.hides is not null then 1 else 0 end,
    was_aborted = tail.was_aborted, delivery_seq = s.delivery_seq + tail.deliveries,
    input_tokens = s.input_tokens + fence.input_tokens + fence.cache_read_tokens + fence.cache_write_tokens,
    output_tokens = s.output_tokens + fence.output_tokens,
    cost_micros = case when fence.cost_micros is null then nullif(s.cost_micros, 0) else coalesce(s.cost_micros, 0) + fence.cost_micros end, unpriced_calls = s.unpriced_calls + fence.unpriced_calls,
    waiting = s.waiting + (select count(*) from returned_inputs where returned_inputs.session_id = s.id)::int,
    collect_max = coalesce(tail.collect_max, case when s.waiting > 0 then s.collect_max end),
    is_simulated = s.is_simulated or fence.is_simulated, context_tokens = tail.context_tokens,
    view = coalesce(fence.session_view, s.view)
  from fence join tail on tail.n = fence.n where s.id = fence.session_id
  returning s.id, s.waiting, s.delivery_seq, fence.n, tail.deliveries, s.last_message_at, tail.gather_ms_max, tail.cap,
    case when s.steer_seq <= tail.steer_seen then tail.debounce_ms else 0 end as debounce_ms,
    case when s.steer_seq <= tail.steer_seen then tail.announce_debounce_ms else 0 end as announce_debounce_ms
),
next_inputs as materialized (
  select updated_sessions.id, updated_sessions.last_message_at, updated_sessions.gather_ms_max,
    coalesce((select case when i.kind = 'announcement' then updated_sessions.announce_debounce_ms
        when i.kind = 'message' and coalesce(i.mode, 'collect') not in ('followup', 'reject') and updated_sessions.waiting < updated_sessions.cap
          then updated_sessions.debounce_ms else 0 end
      from holdfast.inbox i where i.session_id = updated_sessions.id and i.status = 'waiting' order by i.seq limit 1), updated_sessions.debounce_ms) as debounce_ms
  from updated_sessions where updated_sessions.waiting > 0
),
rung_doorbells as (
  update holdfast.doorbells d
  set rings = d.rings + 1, rung_at = clock_timestamp(), quiet_ms = nullif(next_inputs.debounce_ms, 0),
    gather_until = clock_timestamp() + next_inputs.gather_ms_max * interval '1 millisecond',
    due_at = least(next_inputs.last_message_at + next_inputs.debounce_ms * interval '1 millisecond',
      clock_timestamp() + least(next_inputs.debounce_ms, next_inputs.gather_ms_max) * interval '1 millisecond')
  from next_inputs where d.session_id = next_inputs.id
  returning d.session_id, d.lane, d.rings, extract(epoch from d.due_at - clock_timestamp()) * 1000 as due_in_ms
),
deleted_doorbells as (
  delete from holdfast.doorbells d using updated_sessions where d.session_id = updated_sessions.id and updated_sessions.waiting = 0
),
hidden_entries as (
  update holdfast.entries e
  set state = case when tail.hides = 'poll' then 'pruned' else 'hidden' end, retired_seq = fence.base_seq + 1
  from fence join tail on tail.n = fence.n
  where e.session_id = fence.session_id and e.state = 'active' and (e.seq = tail.hides_summary
    or e.seq >= coalesce(tail.hides_from, tail.prompt_seq) and e.kind <> 'summary' and (tail.hides = 'refused' or e.turn_id = fence.turn_id))
),
returned_entries as (
  update holdfast.entries e
  set state = case when e.seq < tail.hides_from then 'active' else 'hidden' end,
    retired_seq = case when e.seq < tail.hides_from then null else e.retired_seq end,
    absences = case when e.seq < tail.hides_from
      then coalesce(e.absences, '{}') + int8multirange(int8range(e.retired_seq, fence.base_seq + 1)) else e.absences end
  from fence join tail on tail.n = fence.n
  where tail.undoes and e.session_id = fence.session_id and e.state = 'compacted' and e.retired_seq = tail.hides_summary
),
undone_compactions as (
  update holdfast.compactions c set status = 'restored' from fence join tail on tail.n = fence.n
  where tail.undoes and c.session_id = fence.session_id and c.status = 'completed' and c.summary_seq = tail.hides_summary
),
new_deliveries as (
  select n, pos, id, channel, target::json, payload::json, expires_ms
  from json_to_recordset($8::json) as records (n int, pos int, id uuid, channel text, target text, payload text, expires_ms bigint)
),
inserted_deliveries as (
  insert into holdfast.deliveries (id, session_id, turn_id, seq, channel, target, payload, expires_at)
  select d.id, fence.session_id, fence.turn_id, updated_sessions.delivery_seq - updated_sessions.deliveries + d.pos, d.channel, d.target, d.payload,
    clock_timestamp() + d.expires_ms * interval '1 millisecond'
  from new_deliveries d join fence on fence.n = d.n join updated_sessions on updated_sessions.n = d.n
),
inserted_dead_letters as (
  insert into holdfast.dead_letters (id, kind, session_id, turn_id, code, reason)
  select letter_id, 'turn', session_id, turn_id, letter_code, letter_reason from tail where letter_id is not null
),
new_effects as (
  select n, id, kind, payload::json
  from json_to_recordset($9::json) as records (n int, id uuid, kind text, payload text)
),
inserted_effects as (
  insert into holdfast.effects (id, session_id, kind, payload, cause)
  select e.id, fence.session_id, e.kind, e.payload, e.kind || ':' || fence.turn_id from new_effects e join fence on fence.n = e.n
),
new_events as (
  select n, pos, type, data::json
  from json_to_recordset($10::json) as records (n int, pos int, type text, data text)
),
journal_events as (
  select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
  from new_events e join fence on fence.n = e.n
),
settled_events as (
  select session_id, turn_id, 'message.settled' as type, json_build_object('messageId', id, 'status', status) as data, seq as n from settled
),
ended_events as (
  select session_id, turn_id, ended_type as type, ended_data as data, n from tail
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from journal_events) as source
    union all select 2 as phase, source.* from (select session_id, turn_id, type, data, n from settled_events) as source
    union all select 3 as phase, source.* from (select session_id, turn_id, type, data, n from ended_events) as source) as happened
)
select head.n, verdict.is_new, coalesce(t.ended_at is not null and t.epoch = head.epoch, false) as was_ended,
  rung_doorbells.session_id, rung_doorbells.lane, rung_doorbells.rings, rung_doorbells.due_in_ms,
  json_build_object('attempt', t.attempt, 'waitedMs', round(extract(epoch from t.started_at - t.queued_at) * 1000),
    'ranMs', round(extract(epoch from clock_timestamp() - t.started_at) * 1000)) as figures,
  case when updated_sessions.deliveries > 0 then (updated_sessions.delivery_seq - updated_sessions.deliveries + 1) * 1000 end as delivery_ring_no
from head
left join updated_sessions on updated_sessions.n = head.n
left join verdict on verdict.n = head.n
left join holdfast.turns t on t.id = head.turn_id
left join rung_doorbells on rung_doorbells.session_id = head.session_id
;
