// The way into the inboxes: makes sure that a session exists, and stores its inputs. Made once per
// process, so that all that write share statements and the memory of known sessions.
import type { Committed } from '../queue/after-commit.ts';
import { createAccept, type Acceptance } from './accept-messages.ts';
import type { Database } from '../../database/database.ts';
import { deliverDelayed, storeDelayed, type DelayedInput, type Delivered } from './delayed-messages.ts';
import type { NewInput } from './new-input.ts';
import { mergeAll } from '../queue/rings.ts';
import { createEnsureSession, SessionErasedError, type EnsureSession } from '../sessions/sessions.ts';
import type { QueueDrop } from '../../core/queue-mode.ts';
import type { SessionId } from '../../core/ids.ts';
import { insertEventsSql } from '../events/events.ts';
import { TURN_RETRY_MS } from '../../database/passing-faults.ts';
import { literalQuery } from '../../database/literal-query.ts';

export interface Inbox {
  /** The id of a session, which is created if need be. */
  ensureSession: EnsureSession;
  /**
   * Stores an input of a session, and drops messages over its cap; resolves after the commits.
   * Rejects with `SessionErasedError`.
   */
  accept: (input: NewInput) => Promise<Committed<Acceptance>>;
  /** Stores a message that is delivered later. Rejects with `SessionErasedError`. */
  delay: (input: DelayedInput) => Promise<Committed<Acceptance>>;
  /**
   * Delivers due messages, and drops those over the caps of their sessions; resolves after the
   * commits.
   */
  deliver: (inputs: readonly NewInput[]) => Promise<Delivered[]>;
}

/** Makes the inbox of a process. */
export function createInbox(database: Database): Inbox {
  const store = createAccept(database);
  const dropOver = async ({ sessionId, queue }: NewInput): Promise<Committed<object>> =>
    queue === undefined ? {} : await dropOverflow(database, { sessionId, cap: queue.cap, drop: queue.drop });
  return {
    ensureSession: createEnsureSession(database),
    async accept(input) {
      const acceptance = await store(input);
      if (acceptance.kind === 'gone') throw new SessionErasedError(input.sessionId);
      if (acceptance.kind !== 'accepted' || !acceptance.isOverCap) return acceptance;
      // The session is rung for when the messages over the cap are gone, so no turn claims them.
      return { ...acceptance, after: mergeAll([acceptance, await dropOver(input)]) };
    },
    async delay(input) {
      const acceptance = await storeDelayed(database, input);
      if (acceptance.kind === 'gone') throw new SessionErasedError(input.sessionId);
      return acceptance;
    },
    async deliver(inputs) {
      const delivered: Delivered[] = [];
      for (const { input, isOverCap, ...one } of await deliverDelayed(database, inputs)) {
        const dropped = isOverCap ? await dropOver(input) : {};
        delivered.push({ ...one, after: mergeAll([one, dropped]) });
      }
      return delivered;
    },
  };
}

// Drops waiting messages over the cap of a session, oldest first, where its policy is `summarize`
// or `old`. The rows stay, each with its reason; where the policy says so, a line in the next
// prompt mentions each of them (G5). Messages that a turn has claimed are never changed, nor those
// that a worker has read for one, as in cancel-message.ts: they would be dropped and answered. Sent
// after the message over the cap is committed: if it is lost with its process, the next message
// repeats it.

// The statement may have waited for the row, and then sees the inbox as it was before: the update
// checks a row that was claimed meanwhile again and leaves it unchanged.
/** `cap` and `drop` apply if the session has no setting of its own. */
export const dropOverflow = literalQuery({
  name: 'drop-overflow',
  purpose: 'Drop the oldest waiting messages over the cap of a session. Answers their number.',
  locking:
    'The session row. It may wait for that row, and then sees the inbox as it was before: the update checks a row again that was claimed meanwhile.',
  // If it is sent again, it drops what is over the cap then. Otherwise a fault would refuse a
  // stored message, and its sender would repeat it.
  retryMs: TURN_RETRY_MS,
  text: `with locked as materialized (
  select s.id, s.waiting, s.owner, s.turn_id, s.steer_seq, coalesce(s.queue_cap, $2) as cap, coalesce(s.queue_drop, $3) as policy
  from holdfast.sessions s where s.id = $1 for no key update
),
oldest as materialized (
  select i.id, row_number() over (order by i.seq) as place, count(*) over () as messages from holdfast.inbox i
  -- Messages of other sessions are not dropped: their sender waits for an answer, and their number is bounded where they are sent.
  where i.session_id = $1 and i.status = 'waiting' and i.kind = 'message' and i.body -> 'provenance' is null
),
dropped as (
  update holdfast.inbox i
  set status = 'dropped', settled_at = clock_timestamp(), is_summarized = locked.policy = 'summarize',
    error = json_build_object('code', 'overflow', 'message', 'The inbox was over its cap, and this was the oldest message.')
  from oldest, locked
  -- Announcements and ticks that wait with them are not counted, because they are never dropped.
  where i.id = oldest.id and oldest.place <= least(locked.waiting, oldest.messages) - locked.cap and locked.policy in ('summarize', 'old') and i.status = 'waiting'
    and (locked.owner is null or locked.turn_id is not null and i.seq > locked.steer_seq)
  returning i.id, i.seq, i.session_id, i.status, i.is_summarized
),
updated_sessions as (
  update holdfast.sessions s
  set waiting = s.waiting - (select count(*) from dropped)::int, updated_at = clock_timestamp(),
    overflowed = s.overflowed + (select count(*) from dropped where is_summarized)::int
  from locked where s.id = locked.id and exists (select from dropped)
),
inserted_events as (
  ${insertEventsSql(`select session_id, null::uuid as turn_id, 'message.settled' as type,
    json_build_object('messageId', id, 'status', status) as data, seq as n from dropped`)}
)
select count(*)::int as dropped from dropped`,
  values: ({ sessionId, cap, drop }: { sessionId: SessionId; cap: number; drop: QueueDrop }) => [sessionId, cap, drop],
  answer: ([row]: { dropped: number }[], { sessionId }): Committed<{ dropped: number }> => {
    const dropped = row?.dropped ?? 0;
    return dropped === 0 ? { dropped } : { dropped, after: { changed: [], settled: [sessionId], rings: [] } };
  },
});
