// How full the context of a turn is, by what is known of its room. Where the provider reported nothing (after a takeover or a
// compaction), all of it is an estimate.
import { thresholdTokens } from '../../compaction/plan-compaction.ts';
import { estimatePromptTokens, estimateTokens } from '../../core/token-estimate.ts';
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
  const { contextTokens, compaction } = turn.agent;
  return estimateNextRequest(turn) > thresholdTokens({ contextTokens, ...compaction });
}
