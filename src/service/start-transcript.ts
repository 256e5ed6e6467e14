// Gives a session a new transcript (G15). A running turn is stopped first, when that is requested, and ends by itself: nothing of it is cut
// off in the middle. Only the reset is bound to the key of the request.
import { setTimeout as delay } from 'node:timers/promises';
import type { SessionKey } from '../core/ids.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { resetSession, type Reset } from '../store/reset-session.ts';
import type { Service } from './service.ts';
import { stopSession } from './stop-session.ts';

/** How long a reset that stops the running turn waits for its end, and how often it polls, in milliseconds. */
const END_MS_MAX = 15_000;
const LOOK_MS = 50;

/** Resets it; `isAborting`: a running turn is stopped, and waited for. */
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
    const done = service.publish(await resetSession(service.database, sessionKey, idempotency));
    if (done.kind !== 'running' || !isAborting || performance.now() >= endAt) return done;
    await stopSession(service, { sessionKey, keepQueued: true });
    await delay(LOOK_MS);
  }
}
