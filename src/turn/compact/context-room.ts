// What is known of the room in a turn's context: what the provider reported of the last call, and an estimate of what was added since.
import type { CompactionReason } from '../../core/compaction/compaction-bounds.ts';

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
