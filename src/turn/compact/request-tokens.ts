// How full the context of a turn is, by what is known of its room. Where the provider reported nothing (after a takeover or a
// compaction), all of it is an estimate.
import { thresholdTokens } from '../../core/compaction/compaction-bounds.ts';
import { CHARS_PER_TOKEN, estimateTokens } from '../../core/token-estimate.ts';
import type { RunningTurn } from '../running-turn.ts';

/** Tokens of the turn's next request, about. */
export function estimateNextRequest(turn: RunningTurn): number {
  const { reportedTokens, newTokens } = turn.room;
  if (reportedTokens !== null) return reportedTokens + newTokens;
  return overheadTokens(turn) + estimateTokens(turn.requests.messages);
}

/** Estimated tokens of every request of the turn in addition to its messages. */
export function overheadTokens({ request }: RunningTurn): number {
  const system = request.system.reduce((chars, { text }) => chars + text.length, 0);
  const toolChars = request.tools.length === 0 ? 0 : JSON.stringify(request.tools).length;
  return Math.ceil((system + toolChars) / CHARS_PER_TOKEN);
}

/** True when the turn's next request would take what is held in reserve. */
export function isFull(turn: RunningTurn): boolean {
  const { contextTokens, compaction } = turn.agent;
  return estimateNextRequest(turn) > thresholdTokens({ contextTokens, ...compaction });
}
