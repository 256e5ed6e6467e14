// Messages and turns as JSON that is built by the same SQL everywhere.
import { DEFAULT_PROVIDER } from '../../core/models.ts';
import { SUBJECT_FIELDS } from '../../core/session-key.ts';
import { costFieldsSql, dollarsSql, tokenUsageSql } from '../sessions/cost-sql.ts';
import { RETRIED_AS_SQL, retryOfSql } from '../turn/journal/retry-turn.ts';
import { isoSql } from '../sessions/session-facts.ts';

/**
 * The message, without the reason why it waits: a row `i` of the inbox, with its session `s` and
 * its turn `t`.
 */
export const messageSql = (
  text = `i.body ->> 'text'`,
): string => `json_build_object('id', i.id, 'sessionKey', s.key, 'seq', i.seq, 'kind', i.kind,
  'text', coalesce(${text}, ''), 'tags', coalesce(i.tags, '{}'), 'status', replace(i.status, 'delayed', 'waiting'), 'turnId', i.turn_id, 'retryOf', ${retryOfSql('i.cause_key')},
  'retryOfTurn', (select o.turn_id from holdfast.inbox o where o.id = ${retryOfSql('i.cause_key')}::uuid),
  'reply', case when i.status = 'answered' then coalesce(i.reply, t.reply) end,
  'error', coalesce(i.error, case when i.status in ('failed', 'cancelled') then t.error end),
  'why', null, 'receivedAt', ${isoSql('i.received_at')}, 'settledAt', ${isoSql('i.settled_at')})`;

/**
 * What answers a turn and why; null for a turn that asks for no answer. Not stored: the built-in,
 * as there was no choice.
 */
const HARNESS_SQL = `case when t.kind <> 'compaction'
    then coalesce(t.view -> 'harness', '{"id":"built-in","reason":"auto_fallback"}'::json) end`;

/**
 * The turn that a turn is about because of the kind of its session. The tag names it, or something
 * else.
 */
const SUBJECTS_SQL = Object.entries(SUBJECT_FIELDS)
  .map(
    ([kind, field]) =>
      `'${field}', case when s.kind = '${kind}' then substring(t.tags ->> '${kind}' from '^[0-9a-f-]{36}$') end`,
  )
  .join(', ');

/**
 * The provider of the model of a turn. A model that has answered in place of another has its
 * provider in front, unless that is the default one.
 */
const PROVIDER_SQL = `case when t.asked_model is null then coalesce(t.view ->> 'provider', '${DEFAULT_PROVIDER}')
    when strpos(t.model, '/') > 0 then split_part(t.model, '/', 1) else '${DEFAULT_PROVIDER}' end`;

/**
 * The turn `t` of the session `s`, without its steps and without the reason why it waits. `output`
 * says only whether it has one: `fillOutput`.
 */
export const turnSql = (
  reply = 't.reply',
): string => `json_build_object('id', t.id, 'sessionKey', s.key, 'kind', t.kind, 'lane', t.lane, 'status', t.status,
  'attempt', t.attempt, 'epoch', t.epoch, 'worker', t.worker, 'provider', ${PROVIDER_SQL}, 'model', t.model, 'askedModel', t.asked_model, 'tags', coalesce(t.tags, '{}'), 'retriedAs', coalesce(${RETRIED_AS_SQL}, '[]'), ${SUBJECTS_SQL}, 'harness', ${HARNESS_SQL}, 'reply', ${reply}, 'output', t.view ->> 'formatSha256', 'error', t.error,
  'why', null, 'nextStep', null, 'usage', ${tokenUsageSql('t')}, ${costFieldsSql('t')}, 'queuedAt', ${isoSql('t.queued_at')}, 'claimedAt', ${isoSql('t.claimed_at')},
  'firstClaimedAt', ${isoSql('coalesce((select min(a.claimed_at) from holdfast.turn_attempts a where a.turn_id = t.id), t.claimed_at)')},
  'startedAt', ${isoSql('t.started_at')}, 'endedAt', ${isoSql('t.ended_at')}, 'stepCount', t.steps,
  'unknownCalls', (select count(*) from holdfast.tool_calls x where x.turn_id = t.id and x.status = 'unknown'))`;

/** The model calls of the turn `t`, each with its step; null when there are none. */
export const CALLS_SQL = `(select json_agg(json_build_object('step', c.step, 'call', json_build_object('n', c.call_no, 'purpose', c.purpose, 'notes', c.notes::jsonb - 'key', 'key', c.notes ->> 'key',
    'status', c.status, 'stopReason', c.stop_reason, 'error', c.error, 'provider', split_part(c.model, '/', 1), 'model', c.model,
    'fallbackReason', c.view -> 'fallback' -> 'reason', 'usage', ${tokenUsageSql('c')}, 'cacheWrite1hTokens', c.cache_write_1h_tokens,
    'costUsd', ${dollarsSql('c.cost_micros')}, 'costMicros', c.cost_micros, 'priceVersion', c.price_version, 'tier', c.tier,
    'isEstimated', c.is_estimated, 'simulated', c.is_simulated,
    'startedAt', ${isoSql('c.started_at')}, 'firstChunkAt', ${isoSql('c.first_chunk_at')},
    'endedAt', ${isoSql('c.ended_at')})) order by c.call_no)
  from holdfast.model_calls c where c.turn_id = t.id)`;

/** How a tool call ended: a row of the ledger that has not begun waits for something outside. */
export const toolStatusSql = (x: string): string =>
  `case when ${x}.status = 'intent' and ${x}.runs = 0 then 'waiting' else ${x}.status end`;

/** What such a call waits for; null: it does not wait. */
export const toolWaitSql = (x: string): string =>
  `case when ${x}.status = 'intent' and ${x}.runs = 0 then ${x}.held_for end`;

/**
 * The tool calls of a turn as JSON. `waitSql`: what each waits for; absent: the turn has ended, so
 * none waits.
 */
export const toolsSql = (
  waitSql = 'null',
): string => `(select json_agg(json_build_object('step', x.step, 'tool', json_build_object('callId', x.call_id,
    'name', x.name, 'status', ${toolStatusSql('x')}, 'waitsFor', ${waitSql}, 'isIdempotent', x.is_idempotent, 'runs', x.runs,
    'startedAt', ${isoSql('x.intent_at')}, 'endedAt', ${isoSql('x.ended_at')})) order by x.step, x.ordinal)
  from holdfast.tool_calls x where x.turn_id = t.id)`;
