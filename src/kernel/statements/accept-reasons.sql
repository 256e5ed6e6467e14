-- accept-reasons
-- Purpose: Say why inputs were not stored. Answers a row per input.
-- Locking: None.
-- Parameters: $1 input json
prepare "accept-reasons" (json) as
/* accept-reasons */
with input as (
  select id, session_id, platform_key, scope, key, sha256
  from json_to_recordset($1::json) as records (id uuid, session_id uuid, platform_key text, scope text, key text, sha256 text)
)
select input.id, case when own.id is not null then json_build_object('id', own.id, 'kind', own.kind, 'seq', own.seq, 'receivedAt', to_char(own.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'status', replace(own.status, 'delayed', 'waiting'), 'error', own.error, 'reply', own.reply, 'settledAt', to_char(own.settled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end as message, own.disposition, s.lane,
  json_build_object(
    'id', s.id, 'key', s.key, 'agentId', s.agent_id, 'kind', s.kind,
    'status', case when s.turn_id is not null and not (s.owner is null and coalesce((
      select open_turn.status = 'parked' from holdfast.turns open_turn where open_turn.id = s.turn_id), false)) then 'running'
      when s.waiting > 0 or s.turn_id is not null then 'waiting' else 'idle' end,
    'parentKey', (select parent.key from holdfast.sessions parent where parent.id = s.parent_id),
    'label', s.label, 'channel', s.channel,
    'queueMode', s.queue_mode, 'queueDebounceMs', s.queue_debounce_ms, 'queueCap', s.queue_cap,
    'queueDrop', s.queue_drop, 'model', s.model, 'thinking', s.thinking, 'reasoning', s.reasoning,
    'epoch', s.epoch, 'turnId', s.turn_id, 'waitingMessages', s.waiting,
    'systemEvents', (select count(*) from holdfast.system_events waiting_event
      where waiting_event.session_id = s.id and waiting_event.state = 'queued'),
    'tokens', json_build_object('input', s.input_tokens, 'output', s.output_tokens, 'context', s.context_tokens),
    'costUsd', s.cost_micros::float8 / 1000000, 'costMicros', s.cost_micros,
    'unpricedCalls', s.unpriced_calls, 'simulated', s.is_simulated,
    'createdAt', to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'updatedAt', to_char(s.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as session,
  k.request_sha256 is distinct from input.sha256 and k.key is not null as is_mismatch, k.resource_id, twin.id as twin_id
from input
left join holdfast.inbox own on own.id = input.id
left join holdfast.sessions s on s.id = input.session_id
left join holdfast.idempotency_keys k on k.scope = input.scope and k.key = input.key
left join holdfast.inbox twin on twin.platform_key = input.platform_key
;
