// How full the context of a turn is: what the provider reported of the last call, and an estimate of what was added since. Where
// nothing was reported (after a takeover or a compaction), all of it is an estimate.
import { thresholdTokens, type CompactionReason } from '../core/compaction/compaction-bounds.ts';
import { CHARS_PER_TOKEN, estimateTokens } from '../core/token-estimate.ts';
import type { RunningTurn } from './running-turn.ts';

/** What is known of the room in the context while a turn runs. */
export interface ContextRoom {
  /** Tokens of the last call and its answer together, of this turn or of the one before; null: not known. */
  reportedTokens: number | null;
  /** An estimate of the entries since. */
  newTokens: number;
  /** What was left after the turn was compacted; null: it was not. */
  condensedTokens: number | null;
  /** True while a compaction is under way: the turn's deadline then waits for it once. */
  isCompacting: boolean;
  /** The reason of a compaction that an earlier worker of the turn left in the middle; null: none. */
  interrupted: CompactionReason | null;
  /** True when this turn no longer compacts, unless the provider refuses a request. */
  hasGivenUp: boolean;
}

/** The room of a turn that begins; 0 tokens: none were reported. */
export function roomOf(reportedTokens: number, newTokens: number): ContextRoom {
  return {
    reportedTokens: reportedTokens > 0 ? reportedTokens : null,
    newTokens,
    condensedTokens: null,
    isCompacting: false,
    interrupted: null,
    hasGivenUp: false,
  };
}

/** Tokens of the turn's next request, about. */
export function estimateNextRequest(turn: RunningTurn): number {
  const { reportedTokens, newTokens } = turn.room;
  if (reportedTokens !== null) return reportedTokens + newTokens;
  return overheadTokens(turn) + estimateTokens(turn.requests.messages);
}

/** Estimated tokens of every request of the turn in addition to its messages. */
export function overheadTokens({ request }: RunningTurn): number {
  const system = request.system.reduce((chars, { text }) => chars + text.length, 0);
  return Math.ceil((system + charsOf(request.tools)) / CHARS_PER_TOKEN);
}

/** By the list of tools, which many turns share. */
const toolChars = new WeakMap<object, number>();

function charsOf(tools: RunningTurn['request']['tools']): number {
  if (tools.length === 0) return 0;
  let chars = toolChars.get(tools);
  if (chars === undefined) toolChars.set(tools, (chars = JSON.stringify(tools).length));
  return chars;
}

/** True when the turn's next request would take what is held in reserve. */
export function isFull(turn: RunningTurn): boolean {
  const { contextTokens, compaction } = turn.agent;
  return estimateNextRequest(turn) > thresholdTokens({ contextTokens, ...compaction });
}
