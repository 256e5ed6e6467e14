// What a reaction in a chat says about an answer.

/** Modifiers of an emoji: the tone of the skin, and that it is shown as a picture. */
const MODIFIERS = /\p{Emoji_Modifier}|\u{FE0F}/gu;

/** The value of the thumb that an emoji is; null: it is none. */
export function thumbOfEmoji(emoji: string): boolean | null {
  const plain = emoji.replaceAll(MODIFIERS, '');
  return plain === '👍' || plain === '👎' ? plain === '👍' : null;
}
