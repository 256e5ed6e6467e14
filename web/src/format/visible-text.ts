// Text of a model, a person or a tool, split into characters that are shown unchanged and
// characters that are shown as a mark: those without width or with a change of direction could make
// a text look like another one.

export interface TextPiece {
  text: string;
  /** The name of a character that is shown as a mark; null: ordinary text. */
  mark: string | null;
}

const ESCAPE = String.fromCodePoint(27);
const BELL = String.fromCodePoint(7);
/** Escape sequences of terminals: they colour text there, and are noise here. */
const ANSI = new RegExp(`${ESCAPE}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*${BELL}?|[@-Z\\\\^_])`, 'g');
const LETTER = String.raw`(?=[\p{L}\p{M}])[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}]`;
const PICTURE = String.raw`\p{Extended_Pictographic}`;
/**
 * Joiners where a script or a picture needs them: between two letters, and between two pictures.
 */
const JOINERS = String.raw`(?<=${LETTER})[\u200c\u200d](?=${LETTER})|(?<=[${PICTURE}\p{Emoji_Modifier}\ufe0f])\u200d(?=${PICTURE})`;
/**
 * Control characters but newline and tab, other joiners, marks of direction, and characters without
 * width.
 */
const UNSEEN = new RegExp(
  String.raw`(?!${JOINERS})(?:(?![\n\t])\p{Cc}|[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb])`,
  'gu',
);

/** A text without escape sequences of terminals. */
export function withoutEscapes(text: string): string {
  return text.replaceAll(ANSI, '').replaceAll('\r\n', '\n');
}

/** The pieces of a text. */
export function piecesOf(text: string): TextPiece[] {
  const plain = withoutEscapes(text);
  const pieces: TextPiece[] = [];
  let from = 0;
  for (const { 0: found, index } of plain.matchAll(UNSEEN)) {
    if (index > from) pieces.push({ text: plain.slice(from, index), mark: null });
    pieces.push({ text: found, mark: `U+${found.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}` });
    from = index + found.length;
  }
  if (from < plain.length) pieces.push({ text: plain.slice(from), mark: null });
  return pieces;
}

/** A text with its invisible characters as their numbers, for places that hold nothing but text. */
export const markedText = (text: string): string =>
  piecesOf(text)
    .map((piece) => (piece.mark === null ? piece.text : `<${piece.mark}>`))
    .join('');
