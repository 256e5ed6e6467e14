// Stops what runs: a session with all sessions below it, or one turn. Workers notice within a second (G24).
import type { SessionKey } from '../../core/ids.ts';
import { abortSession, abortTurn, type Abortion } from '../sessions/control.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { StopCommand } from '../sessions/stop-family.ts';
import type { Service } from './service.ts';

export interface StopRequest {
  sessionKey: SessionKey;
  /** Keeps the waiting messages. */
  keepQueued: boolean;
  idempotency?: KeyedRequest | null;
  /** The chat command that asks for it. */
  command?: StopCommand;
}

/** Stops the running turn of a session and the subagents below it. Null: no such session. */
export async function stopSession(
  service: Service,
  stop: StopRequest,
): Promise<Pick<Abortion, 'aborted' | 'cancelled'> | null> {
  return service.publish(await abortSession(service, stop));
}

export async function stopTurn(
  { database, publish }: Service,
  turnId: string,
  idempotency: KeyedRequest | null,
): Promise<'stopped' | 'ended' | 'unknown'> {
  return publish(await abortTurn(database, { turnId, idempotency })).kind;
}
