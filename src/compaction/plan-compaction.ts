// Chooses the cut of a compaction: which entries a summary replaces, and which stay as they are. A
// tool call and its results are replaced or stay together; the newest user message always stays,
// verbatim, even when later entries are replaced. Settings that contradict each other (a reserve
// larger than the window) are adjusted rather than refused: a session must not get stuck on them.
import type { PathEntry } from '../core/entry.ts';
import { estimateTokens } from '../core/content-size.ts';

/** What goes and what stays, both in the order of the path; the summary will precede what stays. */
export interface CompactionPlan {
  retired: PathEntry[];
  kept: PathEntry[];
  /** Everything from this entry on stays. One more than the last entry when nothing does. */
  firstKeptSeq: number;
  /** Entries before it that stay all the same. */
  pinnedSeqs: number[];
  retiredTokens: number;
  keptTokens: number;
}

export interface PlanRequest {
  bounds: CompactionBounds;
  reason: CompactionReason;
  /**
   * How often an attempt failed because its input or result was too large; each time less stays.
   */
  squeeze: number;
}

/**
 * Less than this share of the context is not worth a model call: nothing would be won, and the next
 * request would ask again.
 */
const RETIRED_SHARE_MIN = 0.2;
/** Less than this is not compacted, also on request: a summary has its headings. */
const RETIRED_TOKENS_MIN = 400;

/** Entries that go or stay together. */
interface Unit {
  entries: PathEntry[];
  tokens: number;
}

/** The plan for an active path, or null when a compaction would save nothing. */
export function planCompaction(
  path: readonly PathEntry[],
  { bounds, reason, squeeze }: PlanRequest,
): CompactionPlan | null {
  const units = groupUnits(path.filter(({ kind }) => kind !== 'summary'));
  const summaries = path.filter(({ kind }) => kind === 'summary');
  const totalTokens = sum(units) + estimateTokens(summaries);
  const from = firstKept(units, {
    keepMax: keepTokens(bounds, { reason, totalTokens, squeeze }),
    lastMax: Math.floor(thresholdTokens(bounds) / (2 + 2 * squeeze)),
  });
  const older = units.slice(0, from).flatMap(({ entries }) => entries);
  const tail = units.slice(from).flatMap(({ entries }) => entries);
  const pinned = selectPinned(older, tail);
  const gone = older.filter((entry) => !pinned.includes(entry));
  const keptTokens = sum(units.slice(from)) + estimateTokens(pinned);
  const retiredTokens = totalTokens - keptTokens;
  if (gone.length === 0 || retiredTokens < RETIRED_TOKENS_MIN) return null;
  if (retiredTokens < totalTokens * RETIRED_SHARE_MIN) return null;
  return {
    retired: [...summaries, ...gone],
    kept: [...pinned, ...tail],
    firstKeptSeq: tail[0]?.seq ?? Math.max(...path.map(({ seq }) => seq)) + 1,
    pinnedSeqs: pinned.map(({ seq }) => seq),
    retiredTokens,
    keptTokens,
  };
}

// An answer and the results after it are one unit: a call is never separated from its results.
function groupUnits(entries: readonly PathEntry[]): Unit[] {
  const units: Unit[] = [];
  for (const entry of entries) {
    const last = units.at(-1);
    const tokens = estimateTokens([entry]);
    if (entry.kind === 'results' && last !== undefined) {
      last.entries.push(entry);
      last.tokens += tokens;
    } else {
      units.push({ entries: [entry], tokens });
    }
  }
  return units;
}

// The newest units that fit. The last one stays even when it alone is too much, because the model
// has just requested it, unless it alone would fill the context. The units before it are needed to
// understand it, so nothing is skipped.
function firstKept(units: readonly Unit[], { keepMax, lastMax }: { keepMax: number; lastMax: number }): number {
  let tokens = 0;
  let from = units.length;
  while (from > 0) {
    const unit = units[from - 1];
    if (unit === undefined) break;
    tokens += unit.tokens;
    const isLast = from === units.length;
    if (tokens > keepMax && !(isLast && tokens <= lastMax)) break;
    from -= 1;
  }
  return from;
}

// The prompt that is being answered, and the newest message that reached its turn while it ran.
function selectPinned(older: readonly PathEntry[], tail: readonly PathEntry[]): PathEntry[] {
  const isSaid = ({ kind }: PathEntry): boolean => kind === 'prompt' || kind === 'steer';
  const isPrompt = ({ kind }: PathEntry): boolean => kind === 'prompt';
  const prompt = tail.some(isPrompt) ? undefined : older.findLast(isPrompt);
  const newest = tail.some(isSaid) ? undefined : older.findLast(isSaid);
  return older.filter((entry) => entry === prompt || entry === newest);
}

function sum(units: readonly Unit[]): number {
  return units.reduce((total, { tokens }) => total + tokens, 0);
}

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

/**
 * How many tokens of new messages fit into a context that has so many: what is free, or what a
 * compaction makes free.
 */
export function roomTokens(bounds: CompactionBounds, usedTokens: number): number {
  const threshold = thresholdTokens(bounds);
  return Math.max(threshold - usedTokens, Math.floor(threshold / 2));
}

/**
 * How many tokens of the newest entries stay as they are, of `totalTokens` of all entries.
 * `squeeze`: how often that was too much.
 */
export function keepTokens(
  bounds: CompactionBounds,
  want: { reason: CompactionReason; totalTokens: number; squeeze: number },
): number {
  const share = Math.floor(want.totalTokens * KEEP_SHARES[want.reason]);
  return Math.floor(
    Math.min(bounds.keepRecentTokens, share, thresholdTokens(bounds) / 2) * SQUEEZED_SHARE ** want.squeeze,
  );
}
