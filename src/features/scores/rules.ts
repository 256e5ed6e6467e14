// What a reaction in a chat says about an answer.

/** Modifiers of an emoji: the tone of the skin, and that it is shown as a picture. */
const MODIFIERS = /\p{Emoji_Modifier}|\u{FE0F}/gu;

const VALUES: ReadonlyMap<string, boolean> = new Map([
  ['👍', true],
  ['👎', false],
]);

/** The value of the thumb that an emoji is; null: it is none. */
export function thumbOfEmoji(emoji: string): boolean | null {
  return VALUES.get(emoji.replaceAll(MODIFIERS, '')) ?? null;
}
