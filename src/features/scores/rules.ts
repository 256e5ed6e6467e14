// What a reaction in a chat says about an answer.

/** Modifiers of an emoji: the tone of the skin, and that it is shown as a picture. */
const MODIFIERS = /\p{Emoji_Modifier}|\u{FE0F}/gu;

const VALUES: ReadonlyMap<string, 1 | -1> = new Map([
  ['👍', 1],
  ['👎', -1],
]);

/** The score that an emoji stands for; null: it stands for none. */
export function scoreOfEmoji(emoji: string): 1 | -1 | null {
  return VALUES.get(emoji.replaceAll(MODIFIERS, '')) ?? null;
}
