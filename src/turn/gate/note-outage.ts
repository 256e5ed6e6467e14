// What a turn does about a call that its model has not answered (G33): it asks again from its slot, or waits.
import type { Config } from '../../config.ts';
import { outageOf } from '../../core/failure.ts';
import { pauseAfterFailureMs, RESUME_MS } from '../../core/model-outage.ts';
import { providerOf, type NamedModel } from '../../core/model-ref.ts';
import type { ModelError } from '../../model/model.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { Wait } from './gate-check.ts';
import type { Pass } from './gate.ts';
import { WAIT_IN_SLOT_MS_MAX } from './wait-reasons.ts';

/** The number of short interruptions of a provider during which a turn keeps its slot; then it is parked. */
const RETRIES_IN_SLOT_MAX = 2;

/** How often a turn may retry a call of this provider. */
export function retriesMaxOf({ models: { providers } }: Config, provider: string): number {
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  return own?.maxRetries ?? providers.anthropic.maxRetries;
}

export interface OutageDecision {
  /** True: it may ask again from its slot. */
  mayStay: boolean;
  /** True: the gate holds the next call back until the block of its model is over, which costs nothing of the retry budget. */
  isBlocked: boolean;
  /** How it is parked otherwise. */
  wait: Wait;
}

/** Ends the pass of a failed call. `blocksInARow`: calls that were blocked, with this one. Null: the model is not to blame. */
export async function noteOutage(
  context: TurnContext,
  turn: OpenedTurn,
  { fault, pass, model, blocksInARow }: { fault: ModelError; pass: Pass; model: NamedModel; blocksInARow: number },
): Promise<OutageDecision | null> {
  const setback = await pass.failed(fault);
  const code = outageOf(fault);
  if (setback === null || code === null) return null;
  const { park, progress } = turn.journal.at;
  const { kind, isNews, forMs } = setback;
  const isBlocked = kind === 'blocked';
  const reason = {
    code: isBlocked && code === 'model_away' ? 'model_blocked' : code,
    text: fault.message,
    by: providerOf(model),
  };
  const wait = { reason, hasCalled: true, isNews };
  if (isBlocked) {
    const mayStay = park === null && forMs <= WAIT_IN_SLOT_MS_MAX && blocksInARow <= RETRIES_IN_SLOT_MAX;
    return { isBlocked, mayStay, wait: { ...wait, forMs, spreadMs: RESUME_MS, notBeforeMs: forMs } };
  }
  const notBeforeMs = Math.max(0, fault.retryAfterMs ?? 0);
  const pauses = { pauses: park?.parks ?? 0, random: context.random(), atLeastMs: Math.max(notBeforeMs, forMs) };
  const retriesMax = Math.min(RETRIES_IN_SLOT_MAX, retriesMaxOf(context.config, reason.by));
  return {
    isBlocked,
    mayStay: park === null && kind !== 'away' && progress.retries < retriesMax,
    wait: { ...wait, forMs: pauseAfterFailureMs(pauses, context.config.models.outage.probeMs), notBeforeMs },
  };
}
