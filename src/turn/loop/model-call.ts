// What every model call of a turn has in common, for any purpose: the headers that identify it, and how its errors are classified.
import { ModelError } from '../../model/model.ts';
import { ModelSilent } from './idle-clock.ts';
import type { OpenedTurn } from '../opened-turn.ts';

/** Headers of a call, for audit. */
export function auditHeaders(turn: OpenedTurn, callNo: number): Record<string, string> {
  return {
    'x-holdfast-session': turn.session.key,
    'x-holdfast-turn': turn.id,
    'x-holdfast-epoch': String(turn.held.epoch),
    'x-holdfast-call': String(callNo),
  };
}

/** The fault of a call that failed. Throws what is none on. */
export function faultOf(error: unknown): ModelError {
  if (error instanceof ModelError) return error;
  if (!(error instanceof ModelSilent)) throw error;
  const { message } = error;
  return new ModelError({ type: 'idle_timeout', status: null, retryAfterMs: null, message, cause: error });
}
