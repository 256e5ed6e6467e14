// What is done to the whole transcript of a session: it is compacted on request, restored, started
// anew (G15), or copied.
import { setTimeout as delay } from 'node:timers/promises';
import { agentOf } from '../../config.ts';
import { chooseRoute } from '../../core/inbound.ts';
import type { SessionId, SessionKey } from '../../core/ids.ts';
import { agentIdOf } from '../../core/session-key.ts';
import type { Acceptance } from '../inbox/accept-messages.ts';
import { forkSession, type ForkResult } from '../sessions/fork-session.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { resetSession, type Reset } from '../sessions/reset-session.ts';
import { restoreCompaction, type Restoration } from '../sessions/restore-compaction.ts';
import { buildNewSession } from '../sessions/sessions.ts';
import { findSession } from '../views/sessions.ts';
import { acceptInput, type Service } from './service.ts';
import { stopSession } from './operate-service.ts';

/**
 * How long a reset that stops the running turn waits for its end, and how often it polls, in
 * milliseconds.
 */
const END_MS_MAX = 15_000;
const POLL_MS = 50;

/**
 * Accepts a compaction as an input of the session, because it needs the session's lock and a model;
 * `instructions` empty: none. Null: no such session.
 */
export async function requestCompaction(
  service: Service,
  request: { sessionKey: SessionKey; instructions: string; idempotency: KeyedRequest | null },
): Promise<{ sessionId: string; acceptance: Acceptance } | null> {
  const session = await findSession(service.views, request.sessionKey);
  if (session === null) return null;
  const body = { text: request.instructions };
  const acceptance = await acceptInput(service, {
    // The view read it from a row of sessions.
    sessionId: session.id as SessionId,
    kind: 'compaction',
    body: JSON.stringify(body),
    route: chooseRoute(body, service.config.owner.ids),
    idempotency: request.idempotency,
  });
  return { sessionId: session.id, acceptance };
}

export async function undoCompaction(
  { database, publish }: Service,
  compaction: { sessionKey: SessionKey; compactionId: string; idempotency: KeyedRequest | null },
): Promise<Restoration['kind']> {
  return publish(await restoreCompaction(database, compaction)).kind;
}

/**
 * Gives the session a new transcript; `isAborting`: a running turn is stopped first, and ends by
 * itself, so that nothing of it is cut off. Only the reset is bound to the key of the request.
 */
export async function startTranscript(
  service: Service,
  {
    sessionKey,
    isAborting,
    idempotency,
  }: { sessionKey: SessionKey; isAborting: boolean; idempotency: KeyedRequest | null },
): Promise<Reset> {
  const endAt = performance.now() + END_MS_MAX;
  for (;;) {
    const done = service.publish(
      await resetSession(service.database, sessionKey, { idempotency, isTrusted: !service.isConfined }),
    );
    if (done.kind !== 'running' || !isAborting || performance.now() >= endAt) return done;
    await stopSession(service, { sessionKey, keepQueued: true });
    await delay(POLL_MS);
  }
}

/** Creates a session with a copy of another one, up to an entry; `entryId` null: to its end. */
export async function copySession(
  { config, database }: Service,
  copy: { sourceKey: SessionKey; entryId: string | null; targetKey: SessionKey; idempotency: KeyedRequest | null },
): Promise<ForkResult> {
  const { targetKey, ...source } = copy;
  agentOf(config, agentIdOf(targetKey));
  return forkSession(database, { ...source, target: buildNewSession(targetKey) });
}
