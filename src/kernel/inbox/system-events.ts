// System events: one-line facts for the next prompt of a session. At most 20 wait; over that the oldest is dropped, counted
// and visible. An event equal to the last one since the last drain is a duplicate.
import { insertEventsSql, type NewEvent } from '../events/events.ts';
import type { Committed } from '../queue/after-commit.ts';
import type { SessionId, SystemEventId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../../database/idempotency.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { buildChange } from '../queue/rings.ts';
import { SessionErasedError } from '../sessions/sessions.ts';
import { literal } from '../../database/statement.ts';

/** The most events that wait in one session. */
const WAITING_EVENTS_MAX = 20;

/**
 * CTEs that make room for one more event of the session of `cte` (a CTE with session_id, empty when nothing is to happen): `crowd`
 * and `displaced`. To be used in a statement that holds the session row.
 */
export function dropOldestEventsSql(cte: string): string[] {
  return [
    `crowd as materialized (
  select e.id, row_number() over (order by e.id desc) as place from holdfast.system_events e join ${cte} on e.session_id = ${cte}.session_id
  where e.state = 'queued'
)`,
    `displaced as (
  update holdfast.system_events e set state = 'dropped', settled_at = clock_timestamp(),
    drop_reason = 'more than ${WAITING_EVENTS_MAX} events waited'
  from crowd where e.id = crowd.id and crowd.place >= ${WAITING_EVENTS_MAX}
)`,
  ];
}

export interface NewSystemEvent {
  id: SystemEventId;
  sessionId: SessionId;
  /** Trimmed and not empty. */
  text: string;
  contextKey: string | null;
  isTrusted: boolean;
  /** The key of the request that queues it. Absent: the request has none, or it is no request. */
  idempotency?: KeyedRequest | null;
  /** The live event that is stored with it; absent: none. */
  event?: NewEvent | undefined;
}

/** A duplicate may equal an event that is no longer kept; then the id names the one that was not stored. */
export interface QueuedEvent {
  disposition: 'queued' | 'duplicate';
  id: SystemEventId;
  createdAt: string;
}

// The waiting events are counted after the lock is acquired. A statement that had to wait for the lock would count the rows
// of before, so it detects that (see session-locks.ts), returns no row, and is sent again. A session that does not exist is `isGone`.
export const ENQUEUE_EVENT = literal({
  name: 'enqueue-event',
  purpose:
    "Queue an event for the session's next prompt; over the bound, the oldest is dropped. Answers no row when the session has changed meanwhile.",
  locking: 'The session row.',
  text: `with seen as materialized (select s.xmin as version from holdfast.sessions s where s.id = $2),
locked as materialized (
  select s.id, s.last_event_text, s.xmin as version from holdfast.sessions s where s.id = $2 for no key update
),
judged as materialized (
  select case
      when seen.version <> locked.version then 'stale'
      when exists (select from holdfast.system_events e where e.id = $1) then 'queued'
      when locked.last_event_text = $3 then 'duplicate'
      else 'new'
    end as verdict
  from locked, seen
),
arriving as materialized (select locked.id as session_id from locked, judged where judged.verdict = 'new'),
${dropOldestEventsSql('arriving').join(',\n')},
stored as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted)
  select $1, $2, $3, $4, $5 from judged where verdict = 'new'
  returning id, created_at
),
updated_sessions as (
  update holdfast.sessions s set last_event_text = $3, updated_at = clock_timestamp()
  from judged where s.id = $2 and judged.verdict = 'new'
),
enqueued as materialized (
  select case when judged.verdict = 'duplicate' then 'duplicate' else 'queued' end as disposition, coalesce(stored.id, twin.id, $1) as id,
    ${isoSql('coalesce(stored.created_at, twin.created_at, clock_timestamp())')} as "createdAt"
  from judged left join stored on true left join lateral (
    select e.id, e.created_at from holdfast.system_events e
    where judged.verdict <> 'new' and e.session_id = $2 and e.text = $3 order by e.id desc limit 1
  ) as twin on true
  where judged.verdict <> 'stale'
),
${keyedPart(6, 'select to_json(enqueued) from enqueued')},
inserted_events as (
  ${insertEventsSql(`select $2::uuid as session_id, null::uuid as turn_id, $9::text as type, $10::json as data, 0 as n from stored where $9::text is not null`)}
)
select enqueued.*, false as "isGone" from enqueued
union all select null, null, null, true where not exists (select from locked) and not exists (select from seen)`,
});

/** Queues an event for the session's next prompt. Idempotent on its id; fails with `isKeyTaken` on its key, and with `SessionErasedError`. */
export async function enqueueSystemEvent(database: Database, event: NewSystemEvent): Promise<Committed<QueuedEvent>> {
  const { id, sessionId, text, contextKey, isTrusted, idempotency, event: live } = event;
  const shown = live === undefined ? [null, null] : [live.type, JSON.stringify(live.data)];
  const values = [id, sessionId, text, contextKey, isTrusted, ...keyValues(idempotency), ...shown];
  for (;;) {
    const { rows } = await database.hot.query<QueuedEvent & { isGone: boolean }>(ENQUEUE_EVENT.prepared(values));
    if (rows[0] === undefined) continue;
    const { isGone, ...queued } = rows[0];
    if (isGone) throw new SessionErasedError(sessionId);
    return { ...queued, after: buildChange(sessionId) };
  }
}
