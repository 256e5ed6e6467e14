// What every call for an answer begins with, of the model and of a plugin's harness: it passes the gate, it is charged, and there is room for it.
import { refOfModel } from '../../../core/model-ref.ts';
import { storeStep } from '../store-step.ts';
import { compactWhenFull, reasonToCompact } from '../compact/compact-when-full.ts';
import type { TurnContext } from '../context.ts';
import type { ComingCall } from '../gate-check.ts';
import { askGate, isOpen, type Pass } from '../gate/gate.ts';
import { parkedStop } from '../gate/store-park.ts';
import { modelStarted, turnResumed } from '../model-events.ts';
import { askInstead, takeKey, takeTraits, toCallView } from '../open/asked-model.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { nextCallNo } from '../position.ts';
import type { NextRequest } from '../request-view.ts';
import { TurnFailed } from '../turn-stop.ts';
import { NO_ROWS } from '../turn-write.ts';
import { namingSmallWindows, stepAround } from './step-down.ts';

/** The right to make the next call, which is charged. Throws as `enterNextGate` does, and `TurnStopped` when the turn stops meanwhile. */
export async function beginCall(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): Promise<Pass> {
  const pass = await enterNextGate(context, turn, way);
  try {
    const { isCharged, park } = turn.journal.at;
    const calls = nextCallNo(turn.journal.at);
    if (!isCharged) {
      const resumed = park === null ? [] : [turnResumed(park)];
      await storeStep(context, turn, {
        ...NO_ROWS,
        totals: { calls },
        events: [...resumed, modelStarted(turn.id, calls)],
      });
    }
    if (way === 'live') pruneWhenCold(context, turn);
    if (reasonToCompact(turn) === null) return pass;
  } catch (error) {
    pass.left();
    throw error;
  }
  // A compaction makes calls with passes of their own: beside this one, they might wait for ever for room in a limit.
  pass.left();
  await compactWhenFull(context, turn);
  return await enterNextGate(context, turn, way);
}

/**
 * The right to make the next call of a turn, of its next model where the one that it asks cannot be called for now. Throws `TurnStopped` (parked)
 * while none can, `TurnFailed` when none ever can.
 */
export async function enterNextGate(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): Promise<Pass> {
  const { request, fallback, unstoredEvents } = turn.journal.attempt;
  const before = { model: refOfModel(request), reason: fallback?.reason ?? null };
  for (let asks = 1; ; asks += 1) {
    takeKey(context, turn, way);
    takeTraits(context, turn);
    const entry = await askGate(context, nextCall(context, turn, way));
    if (!('reason' in entry)) return entry;
    // Another worker has the probe of the key: the next one is asked.
    if (entry.isOfModel === true && mayAskNextKey(context, turn, asks)) continue;
    if (entry.isOfModel === true && stepAround(context, turn, entry.reason)) {
      asks = 0;
      continue;
    }
    const wait = entry.isOfModel === true ? namingSmallWindows(context, turn, entry) : entry;
    // None of the fallbacks has been sent anything, so no entry is theirs.
    if (refOfModel(turn.journal.attempt.request) !== before.model) askInstead(context, turn, before);
    turn.journal.note({ unstoredEvents });
    throw parkedStop(context, turn, wait);
  }
}

function mayAskNextKey(context: TurnContext, turn: OpenedTurn, asks: number): boolean {
  const { request } = turn.journal.attempt;
  return request.key !== undefined && asks < context.model.keysOf(request).length && isOpen(context, request);
}

function nextCall(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): ComingCall {
  const { journal } = turn;
  return {
    turn,
    way,
    model: journal.attempt.request,
    callNo: nextCallNo(journal.at),
    request() {
      if (way !== 'harness') pruneWhenCold(context, turn);
      return { ...journal.attempt.request, messages: [...journal.attempt.requests.messages] };
    },
  };
}

/** The request of the call to be made. Throws `TurnFailed` for a history that every provider refuses, `TurnStopped` when the turn stops. */
export function nextRequest(turn: OpenedTurn): Omit<NextRequest, 'violations'> {
  turn.held.assertHeld();
  const { violations, callView, ...request } = turn.journal.attempt.requests.next();
  if (violations.length > 0) {
    const details = violations.slice(0, 3).map((violation) => `message ${violation.at}: ${violation.detail}`);
    throw new TurnFailed('malformed_history', `The history cannot be sent: ${details.join('; ')}.`);
  }
  return { ...request, callView: toCallView(turn, callView) };
}

/** Prunes the view of the turn when the provider's cache has gone cold; it lasts for the session. */
export function pruneWhenCold({ clock }: TurnContext, turn: OpenedTurn): void {
  const { contextPruning: pruning, contextTokens } = turn.agent;
  const { sessionView, requests } = turn.journal.attempt;
  const decided = requests.decide({ sessionView, pruning, contextTokens, nowMs: clock.now().getTime() });
  if (decided !== undefined) turn.journal.note({ sessionView: decided });
}
