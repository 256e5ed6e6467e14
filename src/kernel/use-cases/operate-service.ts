// What operators do to the service: pause work, lift the blocks of models, drain a process, and
// stop what runs.
import type { BlockView } from '../../contract/model-blocks.ts';
import type { PauseView } from '../../contract/pauses.ts';
import * as blocks from '../processes/unblock-models.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { resume } from '../processes/pause.ts';
import type { PauseScope } from '../views/pauses.ts';
import type { Service } from './service.ts';
import type { SessionKey } from '../../core/ids.ts';
import { abortSession, abortTurn, type Abortion } from '../effects/control.ts';
import type { StopCommand } from '../effects/stop-family.ts';

// These need nothing but the database, and nothing follows from them at once.
export { pause } from '../processes/pause.ts';
export { drainWorker } from '../processes/report-worker.ts';

/**
 * Ends the pause of this scope, or all pauses if the scope is empty, and rings for the sessions
 * that can run again.
 */
export async function resumeWork(
  { database, publish }: Service,
  scope: PauseScope,
  idempotency: KeyedRequest | null,
): Promise<{ ended: PauseView[] }> {
  return publish(await resume(database, scope, idempotency));
}

/**
 * Lifts the blocks of a model, or all if `model` is null, and rings for the turns that wait for it.
 */
export async function liftBlocks(
  { database, publish }: Service,
  model: string | null,
  idempotency: KeyedRequest | null,
): Promise<{ lifted: BlockView[] }> {
  return publish(await blocks.unblockModels(database, model, idempotency));
}

// Stops what runs: a session with all sessions below it, or one turn. Workers notice within a
// second (G24).

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
