// Operations on a session's transcript as a whole: compact it, undo that, start a new one, copy it. A compaction is an input like a
// message, because it needs the session's lock and a model; the others are one statement each.
import type { Inbox } from '../store/inbox.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Doorbell } from '../../jobs/ring.ts';
import type { Config, Lane } from '../config.ts';
import { routeOf } from '../core/inbound.ts';
import type { MessageId, SessionId } from '../core/ids.ts';
import { newId } from '../ids.ts';
import { type Acceptance } from '../store/accept-messages.ts';
import type { Database } from '../store/database.ts';
import { forkSession } from '../store/fork-session.ts';
import { resetSession, type Reset } from '../store/reset-session.ts';
import { restoreCompaction } from '../store/restore-compaction.ts';
import type { NeededRing } from '../store/session-locks.ts';
import type { ViewDatabase } from '../store/views/page.ts';
import { findSession } from '../store/views/sessions.ts';
import type { Wake } from '../wake.ts';
import { newSessionOf } from './accept-message.ts';
import type { Control, SessionLifecycle } from './context.ts';

export interface LifecycleParts {
  config: Config;
  database: Database;
  inbox: Pick<Inbox, 'accept'>;
  views: ViewDatabase;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
  control: Pick<Control, 'abortSession'>;
}

/** How long a reset that stops the running turn waits for its end, and how often it looks, in milliseconds. */
const END_MS_MAX = 15_000;
const LOOK_MS = 50;

/** Makes the functions of a process. */
export function createLifecycle(parts: LifecycleParts): SessionLifecycle {
  const { accept } = parts.inbox;
  return {
    requestCompaction: async ({ sessionKey, instructions, idempotency }) => {
      const session = await findSession(parts.views, sessionKey);
      if (session === null) return null;
      const body = { text: instructions };
      const acceptance = await accept({
        messageId: newId<MessageId>(),
        // The view read it from a row of sessions.
        sessionId: session.id as SessionId,
        kind: 'compaction',
        body: JSON.stringify(body),
        route: routeOf(body, parts.config.owner.ids),
        mode: null,
        platformKey: null,
        idempotency,
        waitingMax: parts.config.limits.waitingPerSession,
      });
      announce(parts, session.id as SessionId, acceptance);
      return { sessionId: session.id, acceptance };
    },
    reset: (input) => reset(parts, input),
    async fork({ sourceKey, entryId, targetKey, idempotency }) {
      const { agentId, kind, lane } = newSessionOf(targetKey);
      const target = { key: targetKey, agentId, kind, lane, channel: null };
      return forkSession(parts.database, { sourceKey, entryId, target, idempotency });
    },
    async restoreCompaction(input) {
      const restored = await restoreCompaction(parts.database, input);
      if (restored.kind === 'ok') settled(parts, restored);
      return restored.kind;
    },
  };
}

function announce({ wake, doorbell }: LifecycleParts, sessionId: SessionId, acceptance: Acceptance): void {
  if (acceptance.kind !== 'accepted') return;
  wake.committed(sessionId, 'progress');
  const { ringNo, lane } = acceptance;
  // The store writes only lanes of the configuration.
  if (ringNo !== null) void doorbell.ring([{ kind: 'inbound', lane: lane as Lane, sessionId, ringNo }]);
}

/**
 * A running turn is stopped first, when that is wanted, and ends by itself: nothing of it is cut off in the middle. Only the reset is bound
 * to the key of the request.
 */
async function reset(
  parts: LifecycleParts,
  { sessionKey, isAborting, idempotency }: Parameters<SessionLifecycle['reset']>[0],
): Promise<Reset> {
  const endAt = performance.now() + END_MS_MAX;
  for (;;) {
    const done = await resetSession(parts.database, sessionKey, idempotency);
    if (done.kind === 'ok') settled(parts, done);
    if (done.kind !== 'running' || !isAborting || performance.now() >= endAt) return done;
    await parts.control.abortSession({ sessionKey, keepQueued: true });
    await delay(LOOK_MS);
  }
}

function settled(
  { wake, doorbell }: LifecycleParts,
  { sessionId, ring }: { sessionId: SessionId; ring: NeededRing | null },
): void {
  wake.committed(sessionId, 'progress');
  if (ring === null) return;
  const { lane, ringNo } = ring;
  void doorbell.ring([{ kind: 'inbound', lane: lane as Lane, sessionId, ringNo }]);
}
