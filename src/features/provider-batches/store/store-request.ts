// `store-request`: charges a model call that goes through a batch of the provider and stores its
// request, before its turn is parked (park-turn.ts). A worker that crashes between the two leaves
// the request under the number of the last call that its turn has charged, where the next claim
// finds it and parks the turn. So nothing is asked for twice, and what the call has reserved of a
// budget stays reserved. See kernel/turn/journal/journal.ts and docs/decisions/0127.
import type { CacheMarkers } from '../../../core/cache-markers.ts';
import type { Database } from '../../../database/database.ts';
import { shareStatement, type RowSubmitter, cte, optional, rows, statement } from '../../../database/statement.ts';
import { insertedEvents } from '../../../kernel/events/events.ts';
import {
  fence,
  head,
  locked,
  PROGRESS_SQL,
  verdict,
  VIEW_SQL,
  haveEvents,
  JOURNAL_EVENTS_SQL,
  newEvents,
} from '../../../kernel/turn/journal/write-parts.ts';
import type { JournalWrite } from '../../../kernel/turn/journal/journal.ts';

/** A model call that goes through a batch of the provider. */
export interface NewProviderRequest {
  callNo: number;
  /** The model as the provider names it. */
  model: string;
  batchId: string | null;
  /** The round of its turn, counted from 1. */
  hop: number;
  /** Why it goes through a batch, for people. */
  reason: string;
  /** How its prompt is kept in the provider's cache. */
  cache: CacheMarkers;
  /** The part of its prompt that a live call would have found in the cache. */
  liveShare: number;
  /** The body of the call, compressed. */
  params: Buffer;
  paramsBytes: number;
  paramsSha256: string;
  /** Until then it may wait. */
  leaveAt: Date;
  /** What happens to it afterwards. */
  fallback: 'live' | 'fail';
}

export interface RequestWrite extends JournalWrite {
  request: NewProviderRequest;
}

export type StoreRequest = RowSubmitter<RequestWrite, { kind: 'ok' | 'fenced' }>;

/** Makes the function that stores requests; turns of different sessions share statements. */
export function createStoreRequest(database: Database): StoreRequest {
  return shareStatement(
    'store-request',
    async (writes: RequestWrite[]) => {
      const answers = (await database.hot.query(STORE_REQUEST.prepared(writes))).rows;
      const stored = new Set(answers.map(({ n }) => Number(n)));
      return writes.map((_, index) => ({ kind: stored.has(index + 1) ? 'ok' : 'fenced' }));
    },
    ({ request }) => request.params.length,
  );
}

const newRequests = rows('new_requests', (writes: readonly RequestWrite[]) => writes, {
  n: ['int', (_, index) => index + 1],
  call_no: ['int', ({ request }) => request.callNo],
  model: ['text', ({ request }) => request.model],
  batch_id: ['uuid', ({ request }) => request.batchId],
  params: ['text', ({ request }) => request.params.toString('base64')],
  params_bytes: ['int', ({ request }) => request.paramsBytes],
  params_sha256: ['text', ({ request }) => request.paramsSha256],
  leave_at: ['timestamptz', ({ request }) => request.leaveAt],
  fallback: ['text', ({ request }) => request.fallback],
  hop: ['int', ({ request }) => request.hop],
  reason: ['text', ({ request }) => request.reason],
  cache: ['text', ({ request: { cache } }) => (cache === '5m' ? null : cache)],
  live_share: ['real', ({ request }) => request.liveShare],
});

// A write that is sent again finds the request and stores nothing: its call is charged, and its
// events are inserted.
const storedRequests = cte(`stored_requests as (
  insert into holdfast.provider_requests (turn_id, call_no, session_id, batch_id, model, params, params_bytes, params_sha256, leave_at, fallback,
    hop, reason, cache, live_share)
  select fence.turn_id, r.call_no, fence.session_id, r.batch_id, r.model, decode(r.params, 'base64'), r.params_bytes, r.params_sha256, r.leave_at,
    r.fallback, r.hop, r.reason, r.cache, r.live_share
  from new_requests r join fence on fence.n = r.n
  on conflict (turn_id, call_no) do nothing
  returning turn_id
)`);

const chargedTurns = cte(`charged_turns as (
  update holdfast.turns t set ${PROGRESS_SQL}
  from fence join stored_requests on stored_requests.turn_id = fence.turn_id where t.id = fence.turn_id
)`);

// The request was made with this view, and its answer is read with it.
const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s set updated_at = clock_timestamp(), ${VIEW_SQL} from fence where s.id = fence.session_id
)`);

const requestEvents = cte(`request_events as (
  ${JOURNAL_EVENTS_SQL} join stored_requests on stored_requests.turn_id = fence.turn_id
)`);

export const STORE_REQUEST = statement<readonly RequestWrite[]>({
  name: 'store-request',
  purpose:
    'Charge a call of each turn and store its request to a batch of the provider. Answers the writes that may be applied.',
  locking: 'The session rows in the order of their ids.',
  ctes: [
    head,
    locked,
    verdict,
    fence,
    newRequests,
    storedRequests,
    chargedTurns,
    updatedSessions,
    ...optional('events', haveEvents)(newEvents, requestEvents, insertedEvents('request_events')),
  ],
  select: 'select n from verdict where is_ok',
});
