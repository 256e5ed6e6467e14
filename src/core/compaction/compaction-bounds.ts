// How much a context may hold before it is compacted, and how much of it stays as it is. Settings that contradict each other (a
// reserve larger than the window) are adjusted rather than refused: a session must not get stuck on them.

/** The settings of an agent that a compaction is decided by, in tokens. */
export interface CompactionBounds {
  contextTokens: number;
  reserveTokens: number;
  keepRecentTokens: number;
}

/** The reason of a compaction; the more urgent it is, the less is kept. */
export type CompactionReason = 'manual' | 'threshold' | 'overflow';

/** The most of the window that the reserve may take. */
const RESERVE_SHARE_MAX = 0.5;
/** The most of the present context that stays as it is, by reason. */
const KEEP_SHARES: Readonly<Record<CompactionReason, number>> = { manual: 0.4, threshold: 0.4, overflow: 0.25 };
/** The part of the previous attempt's input that the next, squeezed attempt keeps. */
const SQUEEZED_SHARE = 0.5;

/** A request estimated above this is not sent before the context was compacted. */
export function thresholdTokens({ contextTokens, reserveTokens }: CompactionBounds): number {
  return contextTokens - Math.min(reserveTokens, Math.floor(contextTokens * RESERVE_SHARE_MAX));
}

/** How many tokens of new messages fit into a context that has so many: what is free, or what a compaction makes free. */
export function roomTokens(bounds: CompactionBounds, usedTokens: number): number {
  const threshold = thresholdTokens(bounds);
  return Math.max(threshold - usedTokens, Math.floor(threshold / 2));
}

/** How many tokens of the newest entries stay as they are, of `totalTokens` of all entries. `squeeze`: how often that was too much. */
export function keepTokens(
  bounds: CompactionBounds,
  want: { reason: CompactionReason; totalTokens: number; squeeze: number },
): number {
  const share = Math.floor(want.totalTokens * KEEP_SHARES[want.reason]);
  return Math.floor(
    Math.min(bounds.keepRecentTokens, share, thresholdTokens(bounds) / 2) * SQUEEZED_SHARE ** want.squeeze,
  );
}
