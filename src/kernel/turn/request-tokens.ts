// How full the context of a turn is, by what is known of its room. Where the provider reported nothing (after a takeover or a
// compaction), all of it is an estimate.
import { thresholdTokens } from '../../compaction/plan-compaction.ts';
import { factsOfModel, type Config } from '../../config.ts';
import { refOfModel } from '../../core/model-ref.ts';
import { fitLimits, type ThinkingRequest } from '../../core/thinking-request.ts';
import { estimatePromptTokens, estimateTokens } from '../../core/token-estimate.ts';
import { given } from '../../core/given.ts';
import type { OpenedTurn } from './opened-turn.ts';

/** Tokens of the turn's next request, about. */
export function estimateNextRequest(turn: OpenedTurn): number {
  const { at, attempt } = turn.journal;
  const { reported, added } = at.tokens;
  // If more is pruned, the reported tokens are those of other messages.
  if (reported !== null && reported.pruning === attempt.sessionView.pruning) return reported.tokens + added;
  return overheadTokens(turn) + estimateTokens(attempt.requests.messages);
}

/** Estimated tokens of every request of the turn in addition to its messages. */
export function overheadTokens({ journal }: OpenedTurn): number {
  return estimatePromptTokens(journal.attempt.request);
}

/** True when the turn's next request would need some of the reserved tokens. */
export function isFull(turn: OpenedTurn): boolean {
  return estimateNextRequest(turn) > thresholdTokens({ ...turn.agent.compaction, contextTokens: usedWindow(turn) });
}

/** How much of the window the agent uses: less where the server of the model has named a smaller one. */
export function usedWindow({ agent, journal }: OpenedTurn): number {
  return Math.min(agent.contextTokens, journal.attempt.traits.contextTokens ?? Infinity);
}

/** How much the estimate of a request may be too low: so much of it, but no more than so many tokens. */
const MARGIN_SHARE = 0.25;
const MARGIN_TOKENS_MAX = 4_000;

/** The limits of the next request, as far as its window has room for an answer; the same object where it has room for those of the turn. */
export function fitToWindow({ models }: Pick<Config, 'models'>, turn: OpenedTurn): ThinkingRequest {
  const { request, traits } = turn.journal.attempt;
  const { maxTokens, thinking, effort } = request;
  const known = factsOfModel({ models }, refOfModel(request))?.contextTokens ?? turn.agent.contextTokens;
  const promptTokens = estimateNextRequest(turn);
  const margin = Math.min(promptTokens * MARGIN_SHARE, MARGIN_TOKENS_MAX);
  const roomTokens = Math.min(known, traits.contextTokens ?? Infinity) - promptTokens - margin;
  return fitLimits({ maxTokens, ...given({ thinking, effort }) }, roomTokens);
}
