// An answer that the provider has paused (`pause_turn`): the model is asked to continue it, with a message of Holdfast, since not every model
// takes a request that ends with an answer.
import { joinText } from '../../../core/content.ts';
import type { ViewEntry } from '../../../history/view-messages.ts';
import { newEntry, NO_ROWS, type TurnWrite } from '../turn-write.ts';

const CONTINUE = '[holdfast] The provider paused your answer. Continue it from where it ends.';

/** What is stored after a paused answer. */
export function pausedWrite(): TurnWrite {
  return { ...NO_ROWS, entries: [newEntry('steer', 'user', [{ type: 'text', text: CONTINUE }])] };
}

/** The text of an answer after these entries, with that of the paused answers that it continues. */
export function continuedText(entries: readonly ViewEntry[], text: string): string {
  const texts = [text];
  for (let at = entries.length - 1; at > 0; at -= 2) {
    const [paused, note] = [entries[at - 1], entries[at]];
    if (paused?.kind !== 'answer' || note?.kind !== 'steer' || joinText(note.content) !== CONTINUE) break;
    texts.unshift(joinText(paused.content));
  }
  return texts.filter((part) => part !== '').join('\n');
}
