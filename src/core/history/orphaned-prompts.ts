// Prompts at the end of a transcript whose turn has ended without an answer: the provider was unavailable, the turn was
// stopped. The next prompt would follow them directly. Either the two are sent as one user message (`merge`), so that the model
// still reads the first, or the older is hidden (`hide`): its row stays, but the model no longer sees it.
import type { Entry } from '../entry.ts';

/** The trailing user entries without an answer, oldest first; tool results do not count. */
export function orphanedPrompts<Item extends Pick<Entry, 'kind'>>(entries: readonly Item[]): readonly Item[] {
  const last = entries.findLastIndex(({ kind }) => kind !== 'prompt' && kind !== 'steer');
  return entries.slice(last + 1);
}
