// What counts as saying nothing. Providers refuse text of blanks alone, and some of them count control characters as blanks.

/** True for text of blanks and control characters only, the empty text included. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Cc}]*$/u.test(text);
}
