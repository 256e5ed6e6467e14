// Markdown as a text of Signal, which has styles as ranges of the text and no marks.
import { toStyledText } from './styled-text.ts';

const STYLES: Readonly<Record<string, string>> = {
  bold: 'BOLD',
  italic: 'ITALIC',
  strikethrough: 'STRIKETHROUGH',
  spoiler: 'SPOILER',
  code: 'MONOSPACE',
  pre: 'MONOSPACE',
};

/** The text without marks, and its styles: `start:length:STYLE`, in UTF-16 units. */
export function toSignalText(markdown: string): { text: string; styles: string[] } {
  const { text, spans } = toStyledText(markdown, {});
  return { text, styles: spans.map(({ type, offset, length }) => `${offset}:${length}:${STYLES[type]}`) };
}
