// A session as the API shows it, built by the same SQL everywhere, so that an accepted message and
// a later view of the session never disagree.
import { costFieldsSql } from './cost-sql.ts';

/** The SQL of a time as ISO 8601 in UTC with milliseconds, as the API writes them. */
export function isoSql(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

// A turn that a worker runs is not parked, so most are not looked up. `exists` would let the
// planner read all turns into a hash table.
function isParkedSql(s: string): string {
  return `(${s}.owner is null and coalesce((
      select open_turn.status = 'parked' from holdfast.turns open_turn where open_turn.id = ${s}.turn_id), false))`;
}

/**
 * SQL that makes `SessionFacts` as json from a row of `holdfast.sessions` under the given alias.
 * `waiting` is the SQL of how many messages wait, where that is not what the row says.
 */
export function sessionFactsSql(alias: string, waiting = `${alias}.waiting`): string {
  const s = alias;
  return `json_build_object(
    'id', ${s}.id, 'key', ${s}.key, 'agentId', ${s}.agent_id, 'kind', ${s}.kind,
    'status', case when ${s}.turn_id is not null and not ${isParkedSql(s)} then 'running'
      when ${waiting} > 0 or ${s}.turn_id is not null then 'waiting' else 'idle' end,
    'parentKey', (select parent.key from holdfast.sessions parent where parent.id = ${s}.parent_id),
    'label', ${s}.label, 'channel', ${s}.channel,
    'queueMode', ${s}.queue_mode, 'queueDebounceMs', ${s}.queue_debounce_ms, 'queueCap', ${s}.queue_cap,
    'queueDrop', ${s}.queue_drop, 'model', ${s}.model, 'thinking', ${s}.thinking, 'reasoning', ${s}.reasoning,
    'epoch', ${s}.epoch, 'turnId', ${s}.turn_id, 'waitingMessages', ${waiting},
    'systemEvents', (select count(*) from holdfast.system_events waiting_event
      where waiting_event.session_id = ${s}.id and waiting_event.state = 'queued'),
    'tokens', json_build_object('input', ${s}.input_tokens, 'output', ${s}.output_tokens, 'context', ${s}.context_tokens),
    ${costFieldsSql(s)},
    'createdAt', ${isoSql(`${s}.created_at`)}, 'updatedAt', ${isoSql(`${s}.updated_at`)})`;
}
