// Stores what a batch of the provider says of its requests, and wakes their turns. A result of a
// request that no longer waits in this submission changes nothing: it was stored before, or its
// turn has moved on. Requests that nothing needs any more are dropped.
import type { Committed } from '../../../kernel/queue/after-commit.ts';
import type { ReportedTokens } from '../../../core/prices.ts';
import type { RequestResult } from '../rules/request-end.ts';
import type { TurnId } from '../../../core/ids.ts';
import { storableText } from '../../../core/text.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import { LASTING_RETRY_MS } from '../../../database/passing-faults.ts';
import { afterOfRings, RINGS_SQL, wakeSql, type NeededRing } from '../../../kernel/queue/rings.ts';
import { NOTHING, type Effects } from '../../../kernel/effects/turn-effects.ts';

/** A result with what its answer took; absent: it has none. */
export interface NewResult extends RequestResult {
  figures?: AnswerFigures;
}

/** Tokens and costs of an answer. */
interface AnswerFigures extends ReportedTokens {
  /** The model as the provider names it. */
  model: string;
  /** Null: not known. */
  costMicros: number | null;
  liveMicros: number | null;
}

const jsonOf = (value: object | null): string | null => (value === null ? null : storableText(JSON.stringify(value)));

const COLUMNS: SqlColumns<NewResult> = {
  request_no: ['int', ({ requestNo }) => requestNo],
  status: ['text', ({ status }) => status],
  result: ['json', ({ result }) => jsonOf(result)],
  error: ['json', ({ error }) => jsonOf(error)],
  model: ['text', ({ figures }) => figures?.model ?? null],
  input_tokens: ['bigint', ({ figures }) => figures?.inputTokens ?? null],
  output_tokens: ['bigint', ({ figures }) => figures?.outputTokens ?? null],
  cache_read_tokens: ['bigint', ({ figures }) => figures?.cacheReadTokens ?? null],
  cache_write_tokens: ['bigint', ({ figures }) => figures?.cacheWriteTokens ?? null],
  cost_micros: ['bigint', ({ figures }) => figures?.costMicros ?? null],
  live_micros: ['bigint', ({ figures }) => figures?.liveMicros ?? null],
};

const TOKENS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens'];

/** CTEs that wake the turns of requests (session_id, turn_id) that have left the lane. */
const wokenTurnsSql = (source: string, condition = 'true'): string =>
  // Every write that concerns a session updates its row: a claim that has read an older state is
  // refused. A turn that is about to be parked is due at once, because its claim knows another
  // number of answers.
  `updated_sessions as (
  update holdfast.sessions s set held_seq = s.held_seq + 1, updated_at = clock_timestamp() from ${source} where s.id = ${source}.session_id and ${condition}
  returning s.*, s.turn_id = ${source}.turn_id and (s.owner is null or s.lease_expires_at <= clock_timestamp()) as is_waiting
),
rung_doorbells as (
  ${wakeSql('updated_sessions', 's.is_waiting')}
)`;

/**
 * Stores results; resolves with the numbers of the requests that waited for them. Safe to send
 * again.
 */
export const storeResults = literalQuery({
  name: 'store-results',
  purpose:
    'Store results of a submission and wake the turns that wait for them. Answers the numbers that were stored, and the rings.',
  locking: 'The session rows in the order of their ids, then the requests, and the rounds of batches in order.',
  text: `with results as materialized (${selectRecordsSql('$2', COLUMNS)}),
locked as materialized (
  select s.id from holdfast.sessions s
  where s.id in (select r.session_id from holdfast.provider_requests r
    where r.provider_batch_id = $1 and r.status = 'assigned' and r.request_no in (select request_no from results))
  order by s.id for no key update
),
stored as (
  update holdfast.provider_requests r
  set status = results.status, result = results.result, error = results.error,
    settled_at = case when results.status <> 'queued' then clock_timestamp() end,
    provider_batch_id = case when results.status <> 'queued' then r.provider_batch_id end,
    request_no = case when results.status <> 'queued' then r.request_no end,
    returns = r.returns + (results.status = 'queued')::int
  from results
  where r.provider_batch_id = $1 and r.request_no = results.request_no and r.status = 'assigned' and r.session_id in (select id from locked)
  returning r.session_id, r.turn_id, r.status, results.request_no, r.batch_id, r.hop
),
answers as materialized (
  select stored.batch_id, stored.hop as n, results.* from stored join results on results.request_no = stored.request_no where results.model is not null
),
totals as materialized (
  select batch_id, n, count(*)::int as answered, ${TOKENS.map((name) => `sum(${name})::bigint as ${name}`).join(', ')},
    sum(cost_micros)::bigint as cost_micros, sum(live_micros)::bigint as live_micros
  from answers where batch_id is not null and n is not null group by 1, 2
),
locked_hops as materialized (
  select h.batch_id, h.n from totals t join holdfast.batch_hops h on h.batch_id = t.batch_id and h.n = t.n and h.via = 'provider-batch'
  order by h.batch_id, h.n for update of h
),
counted_hops as (
  update holdfast.batch_hops h
  set answered = h.answered + t.answered, ${TOKENS.map((name) => `${name} = h.${name} + t.${name}`).join(', ')},
    cost_micros = h.cost_micros + t.cost_micros, live_micros = h.live_micros + t.live_micros
  from totals t join locked_hops l on l.batch_id = t.batch_id and l.n = t.n
  where h.batch_id = t.batch_id and h.n = t.n and h.via = 'provider-batch'
),
${wokenTurnsSql('stored', `stored.status <> 'queued'`)}
select (select coalesce(json_agg(request_no), '[]') from stored) as numbers, ${RINGS_SQL} as rings`,
  retryMs: LASTING_RETRY_MS,
  values: ({ providerBatchId, results }: { providerBatchId: string; results: readonly NewResult[] }) => [
    providerBatchId,
    toRecords(results, COLUMNS),
  ],
  answer: ([row]: { numbers: number[]; rings: NeededRing[] }[]): Committed<{ numbers: number[] }> => ({
    numbers: row?.numbers ?? [],
    after: afterOfRings(row?.rings ?? []),
  }),
});

/** A request of a submission, without its body. */
export interface SentRequest {
  requestNo: number;
  model: string;
  /** The part of its prompt that a live call would have found in the cache; null: not known. */
  liveShare: number | null;
  /** False: it has its result from an earlier reading. */
  isWaiting: boolean;
}

export const readSentRequests = literalQuery({
  name: 'sent-requests',
  purpose: 'Read what is known of the requests of a submission, to price their answers.',
  text: `select r.request_no as "requestNo", r.model, r.live_share as "liveShare", r.status = 'assigned' as "isWaiting"
from holdfast.provider_requests r where r.provider_batch_id = $1 and r.status in ('assigned', 'answered', 'errored')`,
  retryMs: LASTING_RETRY_MS,
  values: (providerBatchId: string) => [providerBatchId],
  answer: (rows: SentRequest[]) => new Map(rows.map((row) => [row.requestNo, row])),
});

/** The most requests that leave in one statement. */
const LEAVING_MAX = 500;

/**
 * Takes requests out whose deadline is near: they become live calls of their turns, or their turns
 * fail. A result that arrives afterwards finds no request that waits for it. Resolves with their
 * number.
 */
export const leaveLane = literalQuery({
  name: 'leave-lane',
  purpose: 'Take requests out of the lane that must not wait longer, and wake their turns. Answers the rings.',
  locking: 'The session rows in the order of their ids, then the requests.',
  text: `with leaving as materialized (
  select r.turn_id, r.call_no, r.session_id from holdfast.provider_requests r
  where r.status in ('queued', 'assigned') and r.leave_at <= statement_timestamp() order by r.leave_at limit ${LEAVING_MAX}
),
locked as materialized (
  select s.id from holdfast.sessions s where s.id in (select session_id from leaving) order by s.id for no key update
),
moved as (
  update holdfast.provider_requests r
  set status = case r.fallback when 'live' then 'live' else 'expired' end, params = null, settled_at = clock_timestamp()
  from leaving
  where r.turn_id = leaving.turn_id and r.call_no = leaving.call_no and r.status in ('queued', 'assigned') and r.session_id in (select id from locked)
  returning r.session_id, r.turn_id
),
${wokenTurnsSql('moved')}
select (select count(*)::int from moved) as moved, ${RINGS_SQL} as rings`,
  retryMs: LASTING_RETRY_MS,
  answer: ([row]: { moved: number; rings: NeededRing[] }[]): Committed<{ moved: number }> => ({
    moved: row?.moved ?? 0,
    after: afterOfRings(row?.rings ?? []),
  }),
});

// A turn that may have asked by a batch of the provider has ended: nothing needs its requests any
// more.

export const dropRequests = literalQuery({
  name: 'drop-requests',
  purpose: 'Drop the requests of an ended turn that still wait, and empty those whose answers it has used.',
  locking: 'The requests.',
  text: `update holdfast.provider_requests r
set params = null, result = null, status = case when used.is_used then r.status else 'dropped' end,
  settled_at = case when used.is_used then r.settled_at else clock_timestamp() end
from holdfast.provider_requests own cross join lateral (
  select exists (select from holdfast.model_calls c where c.turn_id = own.turn_id and c.call_no = own.call_no) as is_used
) as used
where own.turn_id = $1 and r.turn_id = own.turn_id and r.call_no = own.call_no
  and (used.is_used or r.status in ('queued', 'assigned', 'answered', 'errored', 'expired'))`,
  values: (turnId: TurnId) => [turnId],
});

declare module '../../../kernel/effects/turn-effects.ts' {
  interface EffectKinds {
    /** The turn may have requests to a batch of the provider, which nothing needs any more. */
    'requests-left': object;
  }
}

export const EFFECTS: Effects = {
  'requests-left'(tx, { turnId }) {
    void dropRequests(tx, turnId);
    return NOTHING;
  },
};
