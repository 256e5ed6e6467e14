// Values that are written into the system prompt as they are: paths, ids, names of models. They are one line, whatever they hold.

const LITERAL_CHARS_MAX = 1024;
const IDENTIFIER_CHARS_MAX = 256;

/** A value without control, format and line-breaking characters, bounded. */
export function literal(value: string): string {
  return value
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, LITERAL_CHARS_MAX)
    .toWellFormed();
}

/** A name that a platform gives to something: as `literal`, and without blanks and backticks, so that no sentence can pass for one. */
export function identifier(value: string): string {
  return literal(value.trim().replace(/[\s`]+/g, '_'))
    .slice(0, IDENTIFIER_CHARS_MAX)
    .toWellFormed();
}
