// Text that PostgreSQL can hold and that providers accept: no NUL, no half of a surrogate pair. A model's text may have both.
// Providers refuse text of blanks alone, and some of them count control characters as blanks.
import type { TextFilter } from './text-filter.ts';

/** The text without them; half a character becomes U+FFFD. */
export function storableText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

/** The value with every text in it made storable, keys too; the same object when all are. */
export function storableValue<Value>(value: Value): Value {
  return changeTexts(value, storableText) as Value;
}

/** Makes a text storable that arrives in pieces: a character may come in two of them. */
export function createStorableFilter(): TextFilter {
  let half = '';
  return {
    push(piece) {
      const text = half + piece;
      half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? '';
      return storableText(half === '' ? text : text.slice(0, -1));
    },
    end() {
      const rest = storableText(half);
      half = '';
      return rest;
    },
  };
}

/** Deeper than this nothing is changed: such values do not occur. */
const DEPTH_MAX = 1000;

/** The value with every text in it changed, keys too; the same object when no text is. */
export function changeTexts(value: unknown, change: (text: string) => string, depth = 0): unknown {
  if (typeof value === 'string') return change(value);
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => changeTexts(item, change, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]): [string, unknown] => [change(key), changeTexts(item, change, depth + 1)]);
  const isSame = after.every(([key, item], at) => key === before[at]?.[0] && item === before[at]?.[1]);
  return isSame ? value : Object.fromEntries(after);
}

/** True for text of blanks and control characters only, the empty text included. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}
