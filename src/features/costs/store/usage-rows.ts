// What happened, as rows that the roll-ups add up: SQL that makes them of events, of the journal,
// and of the changes of statuses. Every row has the same columns, wherever it comes from, and
// `sign` -1 takes one away again.

/** Waiting messages are counted up to this. */
export const WAITING_MAX = 10_000;

/** The key of a bucket, besides its size and its start. */
export const USAGE_KEYS = ['agent_id', 'model', 'lane', 'tier', 'kind'] as const;

/** The sums of a bucket. */
export const USAGE_SUMS = [
  'turns',
  'failed_turns',
  'calls',
  'failures',
  'unpriced_calls',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'cost_micros',
  'wait_ms',
  'turn_ms',
  'call_ms',
  'first_chunk_ms',
] as const;

/** SQL of the sums of usage rows, each under its name. */
export const SUMMED_SQL = USAGE_SUMS.map((name) => `sum(sign * ${name})::bigint as ${name}`).join(', ');

const msSql = (from: string, to: string): string =>
  `greatest(0, coalesce(round(extract(epoch from ${to} - ${from}) * 1000), 0))::bigint`;

// A text in an event may have a NUL or half a surrogate pair, with which no field of the JSON can
// be read. With `offset 0` the text is searched and read once for each event, not again for each of
// its fields.
const READABLE_SQL = String.raw`select case when strpos(e.data::text, '\u') > 0 and e.data::text ~* '\\u(0000|d[89a-f])'
      then regexp_replace(e.data::text, '\\u(0000|d[89a-f][0-9a-f]{2})', '\\ufffd', 'gi')::jsonb else e.data::jsonb end offset 0`;

const tokensSql = (name: string): string => `coalesce((e.data -> 'usage' ->> '${name}')::bigint, 0)`;

/**
 * SQL of the events of a range, which is a condition on `e.id`: those that anything here is made
 * of, with their JSON readable.
 */
export function eventsSql(range: string): string {
  return `(select e.type, e.session_id, e.turn_id, e.created_at, d.data
  from holdfast.events e cross join lateral (${READABLE_SQL}) as d (data)
  where ${range} and e.type in ('turn.started', 'turn.ended', 'model.ended', 'message.accepted', 'message.settled', 'delivery.sent'))`;
}

/** The events that are not in the roll-ups yet. */
export const UNREAD_EVENTS = eventsSql('e.id > (select c.after_id from holdfast.roll_up_cursor c where c.singleton)');

/**
 * SQL of the usage rows of events, which are those of `eventsSql`. Events of the version before
 * name neither agent nor model nor kind: the rows that they belong to do. `limit 1` keeps each
 * look-up one by an index.
 */
export function usageOfEventsSql(events: string, sign: 1 | -1 = 1): string {
  return `select ${sign} as sign, e.created_at as at,
    coalesce(e.data ->> 'agentId', (select s.agent_id from holdfast.sessions s where s.id = e.session_id limit 1), 'unknown') as agent_id,
    coalesce(e.data ->> 'model', 'anthropic/' || t.model, 'unknown') as model, coalesce(e.data ->> 'lane', t.lane, 'unknown') as lane,
    coalesce(e.data ->> 'tier', 'standard') as tier, coalesce(e.data ->> 'kind', t.kind, 'unknown') as kind,
    (e.type = 'turn.ended')::int as turns,
    (e.type = 'turn.ended' and e.data ->> 'status' in ('failed', 'timedOut'))::int as failed_turns,
    (e.type = 'model.ended')::int as calls, (e.type = 'model.ended' and e.data ->> 'status' = 'failed')::int as failures,
    (e.type = 'model.ended' and e.data ->> 'costMicros' is null)::int as unpriced_calls,
    ${tokensSql('inputTokens')} as input_tokens, ${tokensSql('outputTokens')} as output_tokens,
    ${tokensSql('cacheReadTokens')} as cache_read_tokens, ${tokensSql('cacheWriteTokens')} as cache_write_tokens,
    coalesce((e.data ->> 'cacheWrite1hTokens')::bigint, 0) as cache_write_1h_tokens,
    -- A turn costs what its calls cost, which are counted already.
    case when e.type = 'model.ended' then coalesce((e.data ->> 'costMicros')::bigint, 0) else 0 end as cost_micros,
    case when e.type = 'turn.ended' then ${msSql('t.queued_at', 't.started_at')} else 0 end as wait_ms,
    case when e.type = 'turn.ended' then ${msSql('t.started_at', 't.ended_at')} else 0 end as turn_ms,
    coalesce(round((e.data ->> 'durationMs')::numeric)::bigint, 0) as call_ms,
    coalesce(round((e.data ->> 'firstChunkMs')::numeric)::bigint, 0) as first_chunk_ms,
    coalesce((e.data ->> 'simulated')::boolean, false) as is_simulated
  from ${events} as e
  left join lateral (select * from holdfast.turns where id = e.turn_id limit 1) as t on true
  where e.type in ('model.ended', 'turn.ended')`;
}

/**
 * SQL of the arrivals and the longest waits of events, by minute. A message that waits again has
 * not arrived again.
 */
export function marksOfEventsSql(events: string): string {
  return `select date_trunc('minute', e.created_at, 'UTC') as starts_at, (count(*) filter (where e.type = 'message.accepted')) as arrivals,
    coalesce(max(case when e.type = 'turn.started'
      then (select ${msSql('t.queued_at', 'e.created_at')} from holdfast.turns t where t.id = e.turn_id limit 1) end), 0) as longest_wait_ms
  from ${events} as e
  where e.type in ('turn.started', 'message.accepted') and (e.type = 'turn.started' and coalesce((e.data ->> 'attempt')::int, 1) = 1
    or e.type = 'message.accepted' and e.data ->> 'previousStatus' is null)
  group by 1`;
}

/**
 * SQL of the usage rows of the journal, as far as it goes, of turns that meet a condition on their
 * row `t`: for what happened before there were roll-ups, and for what these do not tell apart.
 */
export const usageOfJournalSql = (
  condition: string,
): string => `select 1 as sign, c.ended_at as at, s.agent_id, coalesce(c.model, 'anthropic/' || t.model) as model, t.lane, c.tier, t.kind,
    0 as turns, 0 as failed_turns, 1 as calls, (c.status = 'failed')::int as failures, (c.cost_micros is null)::int as unpriced_calls,
    c.input_tokens, c.output_tokens, c.cache_read_tokens, c.cache_write_tokens, c.cache_write_1h_tokens, coalesce(c.cost_micros, 0) as cost_micros,
    0 as wait_ms, 0 as turn_ms, ${msSql('c.started_at', 'c.ended_at')} as call_ms, ${msSql('c.started_at', 'c.first_chunk_at')} as first_chunk_ms,
    c.is_simulated
  from holdfast.model_calls c join holdfast.turns t on t.id = c.turn_id join holdfast.sessions s on s.id = t.session_id
  where ${condition}
  union all select 1, t.ended_at, s.agent_id, 'anthropic/' || t.model, t.lane, 'standard', t.kind,
    1, (t.status in ('failed', 'timedOut'))::int, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ${msSql('t.queued_at', 't.started_at')}, ${msSql('t.started_at', 't.ended_at')}, 0, 0, false
  from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.ended_at is not null and ${condition}`;

/** The subject of calls whose cost is not known; their model takes the place of a status. */
export const UNPRICED_CALLS = 'unpriced calls';

/**
 * SQL of how events change the numbers of rows that have ended: subject, status, change. A failed
 * message that is retried waits again, and says so with its acceptance.
 */
export function countChangesSql(events: string): string {
  return `select case e.type when 'turn.ended' then 'turns' when 'delivery.sent' then 'deliveries' when 'model.ended' then '${UNPRICED_CALLS}'
      else 'messages' end as subject,
    case e.type when 'model.ended' then coalesce(e.data ->> 'model', 'unknown')
      else coalesce(e.data ->> 'previousStatus', e.data ->> 'status', 'unknown') end as status,
    case e.type when 'message.accepted' then -1 else 1 end as change
  from ${events} as e
  where e.type in ('turn.ended', 'delivery.sent', 'message.settled', 'message.accepted', 'model.ended')
    and (e.type in ('turn.ended', 'delivery.sent', 'message.settled')
    or e.type = 'message.accepted' and e.data ->> 'previousStatus' is not null
    or e.type = 'model.ended' and e.data ->> 'costMicros' is null)`;
}
