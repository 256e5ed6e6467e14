// Text that PostgreSQL can hold and that providers accept: no NUL, no half of a surrogate pair. A model's text may have both.
import { changeTexts } from './change-texts.ts';
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
