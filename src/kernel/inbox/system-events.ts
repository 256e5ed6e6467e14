// System events: one-line facts for the next prompt of a session. At most 20 wait; over that the
// oldest is dropped, counted and visible. An event equal to the last one since the last drain is a
// duplicate.
import type { NewEvent } from '../events/events.ts';
import type { Committed } from '../queue/after-commit.ts';
import type { SessionId, SystemEventId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { transaction } from '../../database/transaction.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { buildChange } from '../queue/rings.ts';
import { SessionErasedError } from '../sessions/sessions.ts';
import { putInputs } from './put-inputs.ts';

/** The most events that wait in one session. */
const WAITING_EVENTS_MAX = 20;

/**
 * CTEs that make room for one more event of the session of `cte` (a CTE with session_id, empty when
 * nothing is to happen): `crowd` and `displaced`. To be used in a statement that holds the session
 * row.
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

/**
 * A duplicate may equal an event that is no longer kept; then the id names the one that was not
 * stored.
 */
export interface QueuedEvent {
  disposition: 'queued' | 'duplicate';
  id: SystemEventId;
  createdAt: string;
}

/**
 * Adds an event that is new to a session that the transaction has locked; over the bound, the
 * oldest is dropped.
 */
export const putSystemEvent = literalQuery({
  name: 'put-system-event',
  purpose: 'Queue an event for the next prompt of a locked session; over the bound, the oldest is dropped.',
  locking: 'The session row, which the transaction has locked, then its events.',
  text: `with arriving as (select $sessionId::uuid as session_id),
${dropOldestEventsSql('arriving').join(',\n')},
inserted_event as (
  insert into holdfast.system_events (id, session_id, text, context_key, is_trusted, cause_key, created_at)
  values ($id, $sessionId, $text, $contextKey, $isTrusted, $causeKey, coalesce($createdAt::timestamptz, clock_timestamp()))
  on conflict do nothing
)
update holdfast.sessions s set last_event_text = $text, updated_at = clock_timestamp() where s.id = $sessionId`,
  values: (event: PutSystemEvent) => event,
});

/** An event as a transaction stores it. */
export interface PutSystemEvent {
  id: string;
  sessionId: SessionId;
  text: string;
  contextKey: string | null;
  isTrusted: boolean;
  /** Null: it has none. */
  causeKey: string | null;
  /** ISO 8601; null: now. */
  createdAt: string | null;
}

export const lockForEvent = literalQuery({
  name: 'lock-for-event',
  purpose: 'Lock a session that gets an event.',
  locking: 'The session row.',
  text: `select s.last_event_text = $text as "isDuplicate", ${isoSql('clock_timestamp()')} as now
from holdfast.sessions s where s.id = $sessionId for no key update`,
  values: ({ sessionId, text }: NewSystemEvent) => ({ sessionId, text }),
  answer: ([session]: { isDuplicate: boolean | null; now: string }[]) => session,
});

export const readTwins = literalQuery({
  name: 'read-twins-of-event',
  purpose: 'Read an event if it is stored, and the newest one of its session that says the same.',
  text: `select e.id, ${isoSql('e.created_at')} as "createdAt" from holdfast.system_events e where e.id = $id
union all (select e.id, ${isoSql('e.created_at')} from holdfast.system_events e
  where e.session_id = $sessionId and e.text = $text order by e.id desc limit 1)`,
  values: ({ id, sessionId, text }: NewSystemEvent) => ({ id, sessionId, text }),
  answer: (rows: { id: string; createdAt: string }[]) => rows,
});

/**
 * Queues an event for the session's next prompt. Idempotent on its id; fails with `isKeyTaken` on
 * its key, and with `SessionErasedError`.
 */
export function enqueueSystemEvent(database: Database, event: NewSystemEvent): Promise<Committed<QueuedEvent>> {
  const { id, sessionId, text, contextKey, isTrusted, idempotency = null, event: live } = event;
  return transaction(database.hot, async (tx) => {
    const [session, twins] = await Promise.all([lockForEvent(tx, event), readTwins(tx, event)]);
    if (session === undefined) throw new SessionErasedError(sessionId);
    const isKnown = twins.some((twin) => twin.id === id);
    const isNew = !isKnown && session.isDuplicate !== true;
    const stored = isNew ? undefined : twins[0];
    const queued: QueuedEvent = {
      disposition: isNew || isKnown ? 'queued' : 'duplicate',
      id: (stored?.id ?? id) as SystemEventId,
      createdAt: stored?.createdAt ?? session.now,
    };
    if (isNew)
      void putSystemEvent(tx, { id, sessionId, text, contextKey, isTrusted, causeKey: null, createdAt: session.now });
    const events = isNew && live !== undefined ? [{ ...live, sessionId }] : [];
    void putInputs(tx, { inputs: [], events, keyed: { request: idempotency, result: queued } });
    return { ...queued, after: buildChange(sessionId) };
  });
}
