// Stops the call that a request began: its message while it waits, or the turn that has claimed it.
import { setTimeout as delay } from 'node:timers/promises';
import { cancelWaiting } from './client-calls.ts';
import { stopTurn } from '../../kernel/use-cases/stop-session.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { findClientTurn } from './views/turns.ts';
import type { ApiContext } from '../../api/context.ts';

/** A worker that has just claimed a message opens its turn within some milliseconds; meanwhile there is nothing to stop. */
const POLLS_MAX = 50;
const POLL_MS = 100;

/** Cancels the message, or stops the turn that has claimed it. False: it has ended. */
export async function stopCall(
  { views, service }: ApiContext,
  messageId: string,
  idempotency: KeyedRequest | null,
): Promise<boolean> {
  for (let poll = 1; poll <= POLLS_MAX; poll += 1) {
    if (await cancelWaiting(service, messageId, idempotency)) return true;
    const found = await findClientTurn(views, { messageId });
    if (found?.turn) return (await stopTurn(service, found.turn.id, idempotency)) === 'stopped';
    if (found?.status !== 'claimed' && found?.status !== 'waiting') return false;
    await delay(POLL_MS);
  }
  return false;
}
