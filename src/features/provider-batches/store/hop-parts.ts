// Parts of `park-turn` that concern the requests of a turn to the provider's batch lane: it stores a request with the park that waits for its
// answer, and does not park a turn whose answer has arrived meanwhile. Each is left out of a statement in which no park has a hop. The end of
// the turn leaves an effect that drops what nothing waits for any more.
import type { NewProviderRequest } from './new-request.ts';
import { cte, optional, rows } from '../../../database/statement.ts';
import { createParkStatement, type ParkPart, type TurnPark } from '../../../kernel/turn/journal/park-turn.ts';

type Parks = readonly TurnPark[];

const newRequests = rows(
  'new_requests',
  (parks: Parks) =>
    parks.flatMap(({ request }, index) =>
      request === undefined ? [] : [{ n: index + 1, ...(request as NewProviderRequest) }],
    ),
  {
    n: ['int', ({ n }) => n],
    call_no: ['int', ({ callNo }) => callNo],
    model: ['text', ({ model }) => model],
    batch_id: ['uuid', ({ batchId }) => batchId],
    params: ['text', ({ params }) => params.toString('base64')],
    params_bytes: ['int', ({ paramsBytes }) => paramsBytes],
    params_sha256: ['text', ({ paramsSha256 }) => paramsSha256],
    leave_at: ['timestamptz', ({ leaveAt }) => leaveAt],
    fallback: ['text', ({ fallback }) => fallback],
    hop: ['int', ({ hop }) => hop],
    reason: ['text', ({ reason }) => reason],
    cache: ['text', ({ cache }) => (cache === '5m' ? null : cache)],
    live_share: ['real', ({ liveShare }) => liveShare],
  },
);

/** Stores the requests of the parks. */
const storedRequests = optional('requests', (parks: Parks) => parks.some((park) => park.request !== undefined))(
  newRequests,
  cte(`stored_requests as (
  insert into holdfast.provider_requests (turn_id, call_no, session_id, batch_id, model, params, params_bytes, params_sha256, leave_at, fallback,
    hop, reason, cache, live_share)
  select tail.turn_id, r.call_no, tail.session_id, r.batch_id, r.model, decode(r.params, 'base64'), r.params_bytes, r.params_sha256, r.leave_at,
    r.fallback, r.hop, r.reason, r.cache, r.live_share
  from new_requests r join tail on tail.n = r.n
  on conflict (turn_id, call_no) do nothing
)`),
);

/**
 * The turns whose request still waits. The rows are locked, so each is seen as it is now: an answer that was stored while this statement waited
 * for the session is not overlooked.
 */
const waitingRequests = optional('awaited', (parks: Parks) => parks.some((park) => park.awaits !== undefined))(
  cte(
    `waiting_requests as materialized (
  select r.turn_id from holdfast.provider_requests r
  where (r.turn_id, r.call_no) in (select tail.turn_id, tail.awaits from tail) and r.status in ('queued', 'assigned')
  for update of r
)`,
    { absent: 'waiting_requests as (select null::uuid as turn_id where false)' },
  ),
);

export const HOP_PARK: ParkPart = {
  ctes: [...storedRequests, ...waitingRequests],
  isDueSql: 'tail.awaits is not null and tail.turn_id not in (select turn_id from waiting_requests)',
};

/** As it is sent, for `npm run sql`. */
export const PARK_TURN = createParkStatement([HOP_PARK]);
