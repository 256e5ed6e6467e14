// Stops what runs: a session with all subagents below it, one turn, or the run of a subagent. Workers notice within a second (G24).
import type { SessionKey } from '../../core/ids.ts';
import { abortSession, abortTurn, type Abortion } from '../sessions/control.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { StopCommand } from '../../features/subagents/store/stop-family.ts';
import { killRun, type RunKill } from '../../features/subagents/store/subagents.ts';
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
  { config, database, publish }: Service,
  stop: StopRequest,
): Promise<Pick<Abortion, 'aborted' | 'cancelled'> | null> {
  return publish(await abortSession(database, { ...stop, modes: config.messages.queue }));
}

export async function stopTurn(
  { database, publish }: Service,
  turnId: string,
  idempotency: KeyedRequest | null,
): Promise<'stopped' | 'ended' | 'unknown'> {
  return publish(await abortTurn(database, { turnId, idempotency })).kind;
}

/** Ends a run and, unless they are kept, all runs below it; resolves with how many have ended by it. Null: no such run. */
export async function stopRun(
  { config, database, publish }: Service,
  run: Omit<RunKill, 'modes'>,
): Promise<number | null> {
  const stopped = publish(await killRun(database, { ...run, modes: config.messages.queue }));
  if (stopped === null) return null;
  return stopped.kind === 'stopped' ? stopped.runs : 0;
}
