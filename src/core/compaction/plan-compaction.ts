// Chooses the cut of a compaction: which entries a summary replaces, and which stay as they are. A tool call and its results are
// replaced or stay together; the newest user message always stays, verbatim, even when later entries are replaced.
import type { PathEntry } from './path-entry.ts';
import { estimateTokens } from '../token-estimate.ts';
import { keepTokens, thresholdTokens, type CompactionBounds, type CompactionReason } from './compaction-bounds.ts';

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
  /** How often an attempt failed because its input or result was too large; each time less stays. */
  squeeze: number;
}

/** Less than this share of the context is not worth a model call: nothing would be won, and the next request would ask again. */
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
  const units = unitsOf(path.filter(({ kind }) => kind !== 'summary'));
  const summaries = path.filter(({ kind }) => kind === 'summary');
  const totalTokens = sum(units) + estimateTokens(summaries);
  const from = firstKept(units, {
    keepMax: keepTokens(bounds, { reason, totalTokens, squeeze }),
    lastMax: Math.floor(thresholdTokens(bounds) / (2 + 2 * squeeze)),
  });
  const older = units.slice(0, from).flatMap(({ entries }) => entries);
  const tail = units.slice(from).flatMap(({ entries }) => entries);
  const pinned = pinnedOf(older, tail);
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
function unitsOf(entries: readonly PathEntry[]): Unit[] {
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

// The newest units that fit. The last one stays even when it alone is too much, because the model has just requested it, unless
// it alone would fill the context. The units before it are needed to understand it, so nothing is skipped.
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
function pinnedOf(older: readonly PathEntry[], tail: readonly PathEntry[]): PathEntry[] {
  const isSaid = ({ kind }: PathEntry): boolean => kind === 'prompt' || kind === 'steer';
  const isPrompt = ({ kind }: PathEntry): boolean => kind === 'prompt';
  const prompt = tail.some(isPrompt) ? undefined : older.findLast(isPrompt);
  const newest = tail.some(isSaid) ? undefined : older.findLast(isSaid);
  return older.filter((entry) => entry === prompt || entry === newest);
}

function sum(units: readonly Unit[]): number {
  return units.reduce((total, { tokens }) => total + tokens, 0);
}
