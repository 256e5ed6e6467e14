// The events of model calls, and of turns that wait for one, always in one form: both name the call as logs and traces do, `<turn>:model:<n>`.
import type { TurnId } from '../../core/ids.ts';
import { callIdOf } from '../../model/observers/observer.ts';
import type { EarlierPark } from '../../store/claim-session.ts';
import type { NewEvent } from '../../store/events.ts';
import type { ModelCallRow } from '../../store/journal.ts';

/** A parked turn resumes. */
export function turnResumed(park: EarlierPark): NewEvent {
  return { type: 'turn.resumed', data: { code: park.code, waitedMs: park.waitedMs } };
}

/** A call is about to be made. */
export function modelStarted(turnId: TurnId, callNo: number): NewEvent {
  return { type: 'model.started', data: { call: callNo, callId: callIdOf(turnId, callNo) } };
}

/** A call has ended, with its measurements. `retryInMs`: when it is made again. */
export function modelEnded(turnId: TurnId, row: ModelCallRow, retryInMs?: number): NewEvent {
  const { callNo, status, stopReason, error, notes } = row;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = row;
  const outcome =
    status === 'ok'
      ? { stopReason, usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } }
      : { error, ...(retryInMs === undefined ? {} : { retryInMs }) };
  return {
    type: 'model.ended',
    data: { call: callNo, callId: callIdOf(turnId, callNo), status, ...outcome, ...notes },
  };
}
