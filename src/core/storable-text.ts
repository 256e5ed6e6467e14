// Text that PostgreSQL can hold: no NUL, no half of a surrogate pair. A model's text may have both.

/** The text without them. */
export function storableText(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
