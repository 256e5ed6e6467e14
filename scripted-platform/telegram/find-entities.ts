// Finds what Telegram itself marks in a text: commands, mentions and addresses.
import type { Entity, FormattedText } from './formatted-text.ts';

const PATTERNS: [string, RegExp][] = [
  ['url', /\bhttps?:\/\/[^\s<>"]{1,2000}/g],
  ['mention', /(?<![\w@])@[a-z]\w{2,31}\b/gi],
  ['bot_command', /(?<![\w/@])\/[a-z0-9_]{1,64}(?:@[a-z]\w{2,31})?\b/gi],
  ['hashtag', /(?<![\w#])#\w{1,100}\b/g],
];

/** The entities that are not in or around those that the text has already. */
export function findEntities({ text, entities }: FormattedText): Entity[] {
  const found: Entity[] = [];
  for (const [type, pattern] of PATTERNS)
    for (const match of text.matchAll(pattern)) {
      const entity = { type, offset: match.index, length: match[0].length };
      const isFree = [...entities, ...found].every(
        ({ type: other, offset, length }) =>
          offset + length <= entity.offset || entity.offset + entity.length <= offset || !OPAQUE.has(other),
      );
      if (isFree) found.push(entity);
    }
  return found;
}

/** In these, nothing is marked. */
const OPAQUE = new Set(['url', 'text_link', 'code', 'pre', 'mention', 'bot_command', 'hashtag', 'text_mention']);
