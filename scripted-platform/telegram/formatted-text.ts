// A text with its entities, as Telegram reads it from a parse mode, and the mistakes that it finds.
// Offsets and lengths of entities count UTF-16 code units, offsets in errors count bytes.
import { Refused } from './refused.ts';

export interface Entity {
  type: string;
  offset: number;
  length: number;
  url?: string;
  language?: string;
  user?: unknown;
  custom_emoji_id?: string;
}

export interface FormattedText {
  text: string;
  entities: Entity[];
}

export interface OpenEntity {
  type: string;
  /** Where it begins in the text so far. */
  offset: number;
  /** Where its mark is in the source. */
  at: number;
  language?: string;
}

/** How Telegram names the types in errors, where it is not the type with a capital. */
const ERROR_NAMES: Record<string, string> = {
  text_link: 'TextUrl',
  custom_emoji: 'CustomEmoji',
  blockquote: 'BlockQuote',
};

export function sortEntities(entities: Entity[]): Entity[] {
  return entities.toSorted((a, b) => a.offset - b.offset || b.length - a.length);
}

export function bytesBefore(source: string, index: number): number {
  return Buffer.byteLength(source.slice(0, index));
}

export function cannotFindEnd({ type, at }: OpenEntity, source: string): Refused {
  const name = ERROR_NAMES[type] ?? `${type.charAt(0).toUpperCase()}${type.slice(1)}`;
  return parseFault(`Can't find end of ${name} entity at byte offset ${bytesBefore(source, at)}`);
}

export function parseFault(message: string): Refused {
  return new Refused(400, `can't parse entities: ${message}`);
}
