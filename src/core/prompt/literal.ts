// Values that are written into the system prompt as they are: paths, ids, names of models. They are always one line.
import { headOf } from '../cut-text.ts';

const LITERAL_CHARS_MAX = 1024;

/** A value without control, format and line-breaking characters, bounded. */
export function literal(value: string): string {
  return headOf(value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').toWellFormed(), LITERAL_CHARS_MAX);
}

const IDENTIFIER = /^[a-z0-9_:.@+-]{1,64}$/;

/** A name that a platform gives to something, when no sentence can pass for it; null: it must not be included in the system's role. */
export function identifierOf(value: string | undefined): string | null {
  return value !== undefined && IDENTIFIER.test(value) ? value : null;
}
