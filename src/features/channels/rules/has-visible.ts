// Whether people see anything of a text.

/** Spaces and characters without a shape are not seen; U+2800 is an empty pattern of Braille. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** False for a text of spaces and characters that nothing is shown for. Platforms refuse it as empty. */
export function hasVisible(text: string): boolean {
  return VISIBLE.test(text);
}
