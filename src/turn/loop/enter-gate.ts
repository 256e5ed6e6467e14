// The one place where a model call is let through or held back. A call is made when its model is not blocked, is not away, and
// there is allowance for it; otherwise it waits: in its slot for a few seconds, else parked.
// The wait for its place in the rate limits (model-governor.ts) leaves a trace: the span `rate.wait` and a metric.
import { waitForBlockMs, pauseBehindProbeMs } from '../../core/model-outage.ts';
import { providerOf, refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import type { TurnContext } from '../context.ts';
import { laneOf, type OpenedTurn } from '../opened-turn.ts';
import { assertPatience, parkedStop, WAIT_IN_SLOT_MS_MAX } from './await-model.ts';
import type { ClosedGate, Pass } from './model-gate.ts';
import { likelyOutput } from '../../core/budget/likely-cost.ts';
import type { CallTokens } from '../../core/governor/rate-limit.ts';
import { estimateNextRequest } from '../request-tokens.ts';

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

/** A parked turn returns this much before there is allowance for it, so that none is left unused; the shortest park. In milliseconds. */
const EARLY_MS = 2_500;
const PARK_MS_MIN = 1_000;

/** The reasons to park a turn that are waits for a rate. */
const RATE_CODES: ReadonlySet<string> = new Set(['rate_limited', 'model_blocked']);

/** A call that has its place in the rate limits: how long it has waited for it (0 if not at all), and what reports its tokens or that it was not made. */
interface Allowance {
  waitedMs: number;
  used: (call: ModelCallRow) => void;
  unused: () => void;
}

/** Waits until the rate limits have room for the next call. Throws `TurnStopped` (parked) after 5 s. */
export async function awaitAllowance(context: TurnContext, turn: OpenedTurn, model: NamedModel): Promise<Allowance> {
  const admission = await context.governor.admit({
    model,
    lane: laneOf(turn),
    turnId: turn.id,
    tokens: () => expectedTokens(context, turn),
    waitMsMax: WAIT_IN_SLOT_MS_MAX,
    signal: turn.held.signal,
  });
  if (admission.kind === 'late') {
    const ref = refOfModel(model);
    const text = `The rate limits of ${ref} (models.limits) have no room for the call yet.`;
    const waitMs = Math.max(PARK_MS_MIN, admission.waitMs - EARLY_MS);
    const delayMs = Math.ceil(waitMs * (1 + 0.1 * context.random()));
    const reason = { code: 'rate_limited', text, by: ref };
    throw parkedStop(context, turn, { reason, hasCalled: false, delayMs, notBeforeMs: 0 });
  }
  return {
    waitedMs: admission.waitedMs,
    used: (call) =>
      admission.settle({
        uncachedTokens: call.inputTokens + call.cacheWriteTokens,
        cacheReadTokens: call.cacheReadTokens,
        outputTokens: call.outputTokens,
      }),
    unused: admission.giveBack,
  };
}

/** Notes how long the next call has waited for a rate, in this worker and while its turn was parked for it. */
export function noteRateWait(
  context: TurnContext,
  turn: OpenedTurn,
  { model, waitedMs }: { model: NamedModel; waitedMs: number },
): void {
  const { park } = turn.journal.at;
  // A call that is made again has not been parked again.
  const isParked = park !== null && RATE_CODES.has(park.code) && turn.journal.attempt.rateWaitMs === 0;
  const parkedMs = isParked ? park.waitedMs : 0;
  const rateWaitMs = Math.round(parkedMs + waitedMs);
  turn.journal.note({ rateWaitMs });
  if (rateWaitMs > 0) context.onRateWait({ model: refOfModel(model), waitedMs: rateWaitMs });
}

/** The input that the provider reported for the last request counts as cached. */
function expectedTokens({ recentOutputs }: TurnContext, turn: OpenedTurn): CallTokens {
  const { reported, added } = turn.journal.at.tokens;
  const { maxTokens } = turn.journal.attempt.request;
  const outputTokens = likelyOutput(recentOutputs.of(turn.agent.id), maxTokens);
  return reported === null
    ? { uncachedTokens: estimateNextRequest(turn), cacheReadTokens: 0, outputTokens }
    : { uncachedTokens: added, cacheReadTokens: reported.tokens, outputTokens };
}
