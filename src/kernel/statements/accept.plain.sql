-- accept
-- Purpose: Store the inputs that are new and fit. Answers a row per stored input.
-- Locking: The session rows in the order of their ids.
-- Options: none (of keys, charged)
-- Parameters: $1 input json, $2 sessions uuid[]
prepare "accept" (json, uuid[]) as
/* accept */
with input as (
  select n, id, session_id, kind, body::json, route, inline_mode, platform_key, waiting_max, default_mode, cap, drop_policy, command_reply, traceparent, scope, key, sha256
  from json_to_recordset($1::json) as records (n int, id uuid, session_id uuid, kind text, body text, route text, inline_mode text, platform_key text, waiting_max int, default_mode text, cap int, drop_policy text, command_reply text, traceparent text, scope text, key text, sha256 text)
),
locked as materialized (
  select s.*, s.turn_id is not null or s.owner is not null and s.lease_expires_at > clock_timestamp() as is_busy,
    s.turn_id is not null and s.owner is null
      and coalesce((select t.park_code from holdfast.turns t where t.id = s.turn_id and t.status = 'parked') = 'caller', false) as awaits_caller
  from holdfast.sessions s where s.id = any ($2::uuid[]) order by s.id for no key update
),
fitting as materialized (
  select * from (
    select input.*, s.waiting + row_number() over (partition by input.session_id order by input.n) as would_wait
    from input join locked s on s.id = input.session_id
  ) as counted where would_wait <= waiting_max
),
inserted_keys as (select null::uuid as resource_id where false),
numbered as materialized (
  select fitting.*, s.is_busy, s.awaits_caller and fitting.body -> 'caller' is not null as is_instead, s.inbox_seq + row_number() over (partition by fitting.session_id order by fitting.n) as seq,
    case when default_mode is not null then coalesce(inline_mode, s.queue_mode, default_mode) end as mode,
    default_mode is not null and coalesce(s.queue_drop, drop_policy) = 'new' and would_wait > coalesce(s.queue_cap, cap) as is_over
  from fitting join locked s on s.id = fitting.session_id
  where fitting.key is null or fitting.id in (select resource_id from inserted_keys)
),
judged as materialized (
  select *, case
      when command_reply is not null or kind = 'compaction' then 'command'
      when is_over or is_busy and mode = 'reject' then 'rejected'
      -- A client writes this message instead of the results for which the turn waits.
      when is_instead or is_busy and mode in ('interrupt', 'rollback') then 'interrupting'
      when is_busy and mode in ('steer', 'steer-backlog') then 'steered'
      else 'queued'
    end as disposition
  from numbered
),
stored as (
  insert into holdfast.inbox (id, session_id, seq, kind, body, route, mode, platform_key, traceparent, disposition, reply, status, error,
    settled_at, answer)
  select judged.id, session_id, seq, judged.kind, body, route, mode, platform_key, traceparent, disposition, command_reply,
    case when disposition = 'rejected' then 'dropped' when command_reply is not null then 'answered' else 'waiting' end,
    case when judged.disposition <> 'rejected' then null
      when judged.is_over then json_build_object('code', 'overflow', 'message', 'The inbox is full.')
      else json_build_object('code', 'busy', 'message', 'The session was busy, and the queue mode of the message is reject.') end,
    case when disposition = 'rejected' or command_reply is not null then clock_timestamp() end,
    case when judged.key is not null then json_build_object(
    'id', s.id, 'key', s.key, 'agentId', s.agent_id, 'kind', s.kind,
    'status', case when s.turn_id is not null and not (s.owner is null and coalesce((
      select open_turn.status = 'parked' from holdfast.turns open_turn where open_turn.id = s.turn_id), false)) then 'running'
      when (judged.would_wait - (judged.disposition = 'rejected' or judged.command_reply is not null)::int) > 0 or s.turn_id is not null then 'waiting' else 'idle' end,
    'parentKey', (select parent.key from holdfast.sessions parent where parent.id = s.parent_id),
    'label', s.label, 'channel', s.channel,
    'queueMode', s.queue_mode, 'queueDebounceMs', s.queue_debounce_ms, 'queueCap', s.queue_cap,
    'queueDrop', s.queue_drop, 'model', s.model, 'thinking', s.thinking, 'reasoning', s.reasoning,
    'epoch', s.epoch, 'turnId', s.turn_id, 'waitingMessages', (judged.would_wait - (judged.disposition = 'rejected' or judged.command_reply is not null)::int),
    'systemEvents', (select count(*) from holdfast.system_events waiting_event
      where waiting_event.session_id = s.id and waiting_event.state = 'queued'),
    'tokens', json_build_object('input', s.input_tokens, 'output', s.output_tokens, 'context', s.context_tokens),
    'costUsd', s.cost_micros::float8 / 1000000, 'costMicros', s.cost_micros,
    'unpricedCalls', s.unpriced_calls, 'simulated', s.is_simulated,
    'createdAt', to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'updatedAt', to_char(s.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) end
  from judged join locked s on s.id = judged.session_id
  on conflict do nothing
  returning id, session_id, seq, kind, mode, disposition, status, error, reply, received_at, settled_at
),
counted as materialized (
  select session_id, max(seq) as last_seq, count(*) filter (where status = 'waiting')::int as arrived,
    coalesce(max(seq) filter (where disposition = 'steered'), 0) as steer_seq,
    bool_or(disposition = 'interrupting') as interrupts, bool_or(disposition = 'interrupting' and mode = 'rollback') as rolls_back
  from stored group by session_id
),
updated_sessions as (
  update holdfast.sessions s
  set inbox_seq = counted.last_seq, waiting = s.waiting + counted.arrived, updated_at = clock_timestamp(),
    last_message_at = clock_timestamp(), steer_seq = greatest(s.steer_seq, counted.steer_seq),
    stop_kind = case when counted.rolls_back then 'rolledBack'
      when counted.interrupts and s.stop_reason is null then 'interrupted' else s.stop_kind end,
    stop_reason = case when counted.rolls_back then 'rolled back by a newer message'
      when counted.interrupts then coalesce(s.stop_reason, 'interrupted by a newer message') else s.stop_reason end
  from counted where s.id = counted.session_id
  returning s.*, counted.arrived, counted.interrupts
),
rung_doorbells as (
  insert into holdfast.doorbells (session_id, lane, rings)
  select s.id, s.lane, ((s.inbox_seq + s.epoch) << 20) from updated_sessions s where s.arrived > 0
  on conflict (session_id) do nothing
  returning session_id, lane, rings
),
woken as (
  update holdfast.doorbells d set rings = d.rings + 1, rung_at = clock_timestamp(), due_at = clock_timestamp()
  from updated_sessions
  where updated_sessions.interrupts and updated_sessions.turn_id is not null and updated_sessions.owner is null and d.session_id = updated_sessions.id
    and d.due_at > clock_timestamp()
  returning d.session_id, d.rings
),
accepted_events as (
  select session_id, null::uuid as turn_id, 'message.accepted' as type,
    json_build_object('messageId', id, 'seq', seq, 'kind', kind, 'disposition', disposition) as data, seq * 2 as n from stored
  union all
  select session_id, null, 'message.settled', json_build_object('messageId', id, 'status', status), seq * 2 + 1 from stored
  where status <> 'waiting'
),
inserted_events as (
  insert into holdfast.events (id, session_id, turn_id, type, data)
    select ((pg_current_xact_id()::text::bigint + (select o.xid_offset from holdfast.event_ids o where o.singleton)) << 16) + row_number() over (order by phase, n), session_id, turn_id, type, data
    from (select 1 as phase, source.* from (select session_id, turn_id, type, data, n from accepted_events) as source) as happened
)
select stored.id, json_build_object('id', stored.id, 'kind', stored.kind, 'seq', stored.seq, 'receivedAt', to_char(stored.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'status', replace(stored.status, 'delayed', 'waiting'), 'error', stored.error, 'reply', stored.reply, 'settledAt', to_char(stored.settled_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as message, stored.disposition, json_build_object(
    'id', s.id, 'key', s.key, 'agentId', s.agent_id, 'kind', s.kind,
    'status', case when s.turn_id is not null and not (s.owner is null and coalesce((
      select open_turn.status = 'parked' from holdfast.turns open_turn where open_turn.id = s.turn_id), false)) then 'running'
      when (judged.would_wait - (judged.disposition = 'rejected' or judged.command_reply is not null)::int) > 0 or s.turn_id is not null then 'waiting' else 'idle' end,
    'parentKey', (select parent.key from holdfast.sessions parent where parent.id = s.parent_id),
    'label', s.label, 'channel', s.channel,
    'queueMode', s.queue_mode, 'queueDebounceMs', s.queue_debounce_ms, 'queueCap', s.queue_cap,
    'queueDrop', s.queue_drop, 'model', s.model, 'thinking', s.thinking, 'reasoning', s.reasoning,
    'epoch', s.epoch, 'turnId', s.turn_id, 'waitingMessages', (judged.would_wait - (judged.disposition = 'rejected' or judged.command_reply is not null)::int),
    'systemEvents', (select count(*) from holdfast.system_events waiting_event
      where waiting_event.session_id = s.id and waiting_event.state = 'queued'),
    'tokens', json_build_object('input', s.input_tokens, 'output', s.output_tokens, 'context', s.context_tokens),
    'costUsd', s.cost_micros::float8 / 1000000, 'costMicros', s.cost_micros,
    'unpricedCalls', s.unpriced_calls, 'simulated', s.is_simulated,
    'createdAt', to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'updatedAt', to_char(s.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as session,
  s.lane, coalesce(rung_doorbells.rings, woken.rings) as rings,
  updated_sessions.waiting > coalesce(s.queue_cap, judged.cap) and coalesce(s.queue_drop, judged.drop_policy) in ('summarize', 'old') as "isOverCap"
from stored join judged on judged.id = stored.id join locked s on s.id = stored.session_id
join updated_sessions on updated_sessions.id = stored.session_id left join rung_doorbells on rung_doorbells.session_id = stored.session_id
left join woken on woken.session_id = stored.session_id
order by stored.seq
;
