// The one place where a model call is let through or held back. A call is made when its model is not blocked, is not away, and
// there is allowance for it; otherwise it waits: in its slot for a few seconds, else parked.
import { waitForBlockMs, pauseBehindProbeMs } from '../../core/model-outage.ts';
import { providerOf, refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { assertPatience, parkedStop, WAIT_IN_SLOT_MS_MAX } from './await-model.ts';
import { awaitAllowance, noteRateWait } from './await-allowance.ts';
import type { ClosedGate, Pass } from './model-gate.ts';

/** The right to make one call. */
export interface CallPass extends Pass {
  /** The call is made now. Until then, `left` gives its place in the rate limits back. */
  begun: () => void;
  /** The call has ended: what it has used is known. */
  used: (call: ModelCallRow) => void;
}

/**
 * The right to make the next call; acquire it before the call is made. Throws `TurnStopped` (parked) while the model cannot be
 * called, and `TurnFailed` when the turn has reached its longest wait.
 */
export async function enterGate(
  context: TurnContext,
  turn: OpenedTurn,
  model: NamedModel = turn.journal.attempt.request,
): Promise<CallPass> {
  const entry = await tryGate(context, turn, model);
  if (entry.kind === 'pass') return entry;
  const provider = providerOf(model);
  const text = `The model ${refOfModel(model)} does not answer.`;
  const { probeMs } = context.config.models.outage;
  const delayMs = pauseBehindProbeMs({ waitMs: entry.waitMs, random: context.random() }, probeMs);
  const reason = { code: 'model_away', text, by: provider };
  throw parkedStop(context, turn, { reason, hasCalled: false, delayMs, notBeforeMs: 0 });
}

/** The same, but for a model that is away, which it answers: another model may be asked. */
export async function tryGate(
  context: TurnContext,
  turn: OpenedTurn,
  model: NamedModel,
): Promise<CallPass | ClosedGate> {
  assertPatience(context, turn);
  for (let waitedMs = 0; ;) {
    waitedMs += await waitForBlock(context, turn, model);
    const admitted = await admit(context, turn, model);
    if ('kind' in admitted) return admitted;
    waitedMs += admitted.waitedMs;
    // Another worker may have met a block while this call waited for its place.
    if (!isBlocked(context, model)) {
      noteRateWait(context, turn, { model, waitedMs });
      return admitted.pass;
    }
    admitted.pass.left();
  }
}

/** True while no worker may call the model. */
export function isBlocked({ blocks }: TurnContext, model: NamedModel): boolean {
  return blocks.leftMs(model) > 0;
}

async function admit(
  context: TurnContext,
  turn: OpenedTurn,
  model: NamedModel,
): Promise<{ pass: CallPass; waitedMs: number } | ClosedGate> {
  const pass = await context.gate.enter(model, turn.session.id);
  if (pass.kind === 'closed') return pass;
  try {
    const { waitedMs, used, unused } = await awaitAllowance(context, turn, model);
    let isSpent = false;
    const begun = (): void => void (isSpent = true);
    const left = (): void => {
      pass.left();
      if (!isSpent) unused();
      begun();
    };
    return { pass: { ...pass, begun, used, left }, waitedMs };
  } catch (error) {
    pass.left();
    throw error;
  }
}

/** True when a call of the model would be let through soon. */
export function isOpen({ gate, blocks }: TurnContext, model: NamedModel): boolean {
  return gate.isOpen(model) && blocks.leftMs(model) <= WAIT_IN_SLOT_MS_MAX;
}

/** Resolves with how long the call has waited, in milliseconds: exactly 0 if its model is not blocked. */
async function waitForBlock(context: TurnContext, turn: OpenedTurn, model: NamedModel): Promise<number> {
  let waitedMs = 0;
  // Once per block: a call that waits may meet the next one.
  for (let leftMs = context.blocks.leftMs(model); leftMs > 0; leftMs = context.blocks.leftMs(model)) {
    const delayMs = waitForBlockMs(leftMs, context.random());
    if (leftMs > WAIT_IN_SLOT_MS_MAX) {
      const ref = refOfModel(model);
      const text = `The provider has asked for no calls of ${ref} for ${Math.ceil(leftMs / 1000)} s.`;
      const reason = { code: 'model_blocked', text, by: ref };
      throw parkedStop(context, turn, { reason, hasCalled: false, delayMs, notBeforeMs: leftMs });
    }
    const beganAtMs = context.clock.monotonicMs();
    await turn.held.pause(delayMs);
    waitedMs += context.clock.monotonicMs() - beganAtMs;
  }
  return waitedMs;
}
