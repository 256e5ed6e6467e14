// What tells the rows of a list apart: the beginnings of what was said and answered, and who said
// it. They are read from the rows that have them, and nothing keeps a copy, so that what is erased
// is gone from lists, too.
import type { Announcement } from '../../core/subagents.ts';
import { cutHead } from '../../core/text.ts';
import { messageText } from './messages.ts';

const WORDS_CHARS_MAX = 120;

/** Blanks are made one when the text has been read, so more of it is read than is shown. */
export const beginningSql = (text: string): string => `left(${text}, ${2 * WORDS_CHARS_MAX})`;
export const WORDS_SQL = beginningSql(`i.body ->> 'text'`);

/** Who sent the message `i`, as its platform calls them; null: not known. */
export const PERSON_SQL = `left(coalesce(${['name', 'username', 'tag', 'id', 'e164']
  .map((field) => `nullif(i.body -> 'sender' ->> '${field}', '')`)
  .join(', ')}), ${WORDS_CHARS_MAX})`;

/** The beginning of a message as it was read. */
export interface StoredWords {
  text: string | null;
  announcement?: Announcement | null;
}

/** In one line; null: there are no words. */
export function wordsOf(words: StoredWords | null): string | null {
  const line = messageText(words?.text ?? null, words?.announcement ?? null)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return line === '' ? null : cutHead(line, WORDS_CHARS_MAX);
}
