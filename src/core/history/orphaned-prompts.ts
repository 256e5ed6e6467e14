// Prompts at the end of a transcript whose turn is over and brought no answer: the provider was away, the turn was stopped. The
// next prompt would follow them directly. Either the two are sent as one user message (`merge`), so that what the person
// said is still read, or the older is hidden (`hide`): its row stays, it is only out of the model's sight.
import type { Entry } from '../entry.ts';

/** The trailing user entries that nobody answered, oldest first; results of tools are no such words. */
export function orphanedPrompts<Item extends Pick<Entry, 'kind'>>(entries: readonly Item[]): readonly Item[] {
  const last = entries.findLastIndex(({ kind }) => kind !== 'prompt' && kind !== 'steer');
  return entries.slice(last + 1);
}
