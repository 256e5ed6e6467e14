declare module 'unicode-name' {
  /** The name of a character or code point; a label in angle brackets for what has none. */
  export function unicodeName(character: string | number): string;
}
