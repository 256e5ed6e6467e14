// The wait of a call for its place in the rate limits (model-governor.ts), and its trace: the span `rate.wait` and a metric.
import { likelyOutput } from '../../core/budget/likely-cost.ts';
import type { CallTokens } from '../../core/governor/rate-limit.ts';
import { refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import { estimateNextRequest } from '../compact/request-tokens.ts';
import type { TurnContext } from '../context.ts';
import { laneOf, type OpenedTurn } from '../opened-turn.ts';
import { parkedStop, WAIT_IN_SLOT_MS_MAX } from './await-model.ts';

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
