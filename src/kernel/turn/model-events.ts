// The events of model calls, and of turns that wait for one, always in one form: both name the call as logs and traces do, `<turn>:model:<n>`.
import type { TurnId } from '../../core/ids.ts';
import { toDollars, type CostTotal } from '../../core/prices/call-cost.ts';
import { formatCallId } from '../../model/observers/observer.ts';
import { refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { EarlierPark } from '../sessions/claim-session.ts';
import type { NewEvent } from '../events/events.ts';
import type { Reason } from '../rules/why.ts';
import type { ModelCallRow } from './journal/journal.ts';
import type { OpenedTurn } from './opened-turn.ts';

/** A parked turn resumes. */
export function turnResumed(park: EarlierPark): NewEvent {
  return { type: 'turn.resumed', data: { code: park.code, waitedMs: park.waitedMs } };
}

/** A model cannot be called for a time: this turn waits, as all others that ask it. */
export function modelBlocked({ by, code, text }: Reason): NewEvent {
  return { type: 'model.blocked', data: { provider: by, code, text } };
}

/** A turn continues with another of its models. */
export function modelFallback(step: { from: string; to: string; reason: string }): NewEvent {
  return { type: 'model.fallback', data: step };
}

/** A call is about to be made. */
export function modelStarted(turnId: TurnId, callNo: number): NewEvent {
  return { type: 'model.started', data: { call: callNo, callId: formatCallId(turnId, callNo) } };
}

/**
 * A call has ended, with its measurements and its cost. The roll-ups of usage are made of these events, so each names what they are grouped
 * by. `retryInMs`: when it is made again.
 */
export function modelEnded({ id, kind, session }: OpenedTurn, row: ModelCallRow, retryInMs?: number): NewEvent {
  const { callNo, status, stopReason, error, notes } = row;
  const outcome = status === 'ok' ? { stopReason } : { error, ...(retryInMs === undefined ? {} : { retryInMs }) };
  return {
    type: 'model.ended',
    data: {
      call: callNo,
      callId: formatCallId(id, callNo),
      status,
      ...outcome,
      ...describeCost(row),
      agentId: session.agentId,
      kind,
      lane: session.lane,
      firstChunkMs:
        row.firstChunkAt === null ? null : Math.max(0, row.firstChunkAt.getTime() - row.startedAt.getTime()),
      ...notes,
    },
  };
}

function describeCost(row: ModelCallRow): Record<string, unknown> {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens } = row;
  const { model, tier, costMicros, isEstimated, isSimulated } = row;
  return {
    model,
    tier,
    usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens },
    cacheWrite1hTokens,
    costUsd: toDollars(costMicros),
    costMicros,
    isEstimated,
    simulated: isSimulated,
  };
}

/** The end of a turn, with its cost. */
export function turnEnded(
  { session, kind, chain }: OpenedTurn,
  total: CostTotal,
  { answered, ...outcome }: { status: string; reply: string | null; error: object | null; answered: NamedModel | null },
): NewEvent {
  const { costMicros, unpricedCalls, isSimulated } = total;
  return {
    type: 'turn.ended',
    data: {
      ...outcome,
      agentId: session.agentId,
      kind,
      lane: session.lane,
      model: answered === null ? (chain[0] ?? null) : refOfModel(answered),
      costUsd: toDollars(costMicros),
      costMicros,
      unpricedCalls,
      simulated: isSimulated,
    },
  };
}
