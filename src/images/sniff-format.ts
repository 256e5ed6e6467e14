// What kind of image some bytes are, by how they begin. Names and declared types are not trusted; an SVG is a program and is not
// supported.

export type ImageFormat = 'png' | 'jpeg' | 'gif' | 'webp' | 'tiff' | 'heif' | 'bmp';

/** Bytes at a place, as Latin-1 text. */
type Mark = readonly [offset: number, text: string];

const MARKS: readonly (readonly [ImageFormat, ...Mark[]])[] = [
  ['png', [0, '\x89PNG\r\n\x1a\n']],
  ['jpeg', [0, '\xff\xd8\xff']],
  ['gif', [0, 'GIF87a']],
  ['gif', [0, 'GIF89a']],
  ['webp', [0, 'RIFF'], [8, 'WEBP']],
  ['tiff', [0, 'II*\0']],
  ['tiff', [0, 'MM\0*']],
  ['heif', [4, 'ftyphei']],
  ['heif', [4, 'ftyphev']],
  ['heif', [4, 'ftypmif1']],
  ['heif', [4, 'ftypmsf1']],
  ['heif', [4, 'ftypavi']],
  ['bmp', [0, 'BM']],
];

/** The format, or null for anything else. */
export function sniffFormat(bytes: Buffer): ImageFormat | null {
  const beginning = bytes.toString('latin1', 0, 16);
  const found = MARKS.find(([, ...marks]) => marks.every(([offset, text]) => beginning.startsWith(text, offset)));
  return found?.[0] ?? null;
}
