// How much of the past a session is shown: its last turns, whole. A turn is a prompt with everything until the next one, so tool
// calls keep their results; what compaction put in place of older turns stays in front.
import type { Entry } from '../entry.ts';

/**
 * The entries of the last `turnsMax` prompts, with everything after them. The prompt of the current turn is not among `entries`:
 * it does not count. No limit when it is absent, zero or negative.
 */
export function limitTurns<Item extends Pick<Entry, 'kind'>>(
  entries: readonly Item[],
  turnsMax?: number,
): readonly Item[] {
  if (turnsMax === undefined || turnsMax <= 0) return entries;
  let turns = 0;
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    if (entries[at]?.kind !== 'prompt') continue;
    turns += 1;
    if (turns === turnsMax) return withSummaries(entries, at);
  }
  return entries;
}

function withSummaries<Item extends Pick<Entry, 'kind'>>(entries: readonly Item[], from: number): readonly Item[] {
  if (from === 0) return entries;
  return [...entries.slice(0, from).filter(({ kind }) => kind === 'summary'), ...entries.slice(from)];
}
