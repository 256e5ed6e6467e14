// The text of an answer of the web, decoded by the rules of the WHATWG; UTF-8 where nothing names an encoding.
import type { WebAnswer } from './web-fetch-request.ts';

/** Beginnings that have the encoding in themselves: byte order marks, and an XML declaration in UTF-16. They come before every name. */
const BEGINNINGS: readonly (readonly [bytes: string, label: string])[] = [
  ['\xef\xbb\xbf', 'utf-8'],
  ['\xfe\xff', 'utf-16be'],
  ['\xff\xfe', 'utf-16le'],
  ['\0<\0?\0x', 'utf-16be'],
  ['<\0?\0x\0', 'utf-16le'],
];
/** A declaration that could be read is written in ASCII, so it cannot be right about these. */
const INSTEAD: Readonly<Record<string, string>> = {
  'utf-16be': 'utf-8',
  'utf-16le': 'utf-8',
  'x-user-defined': 'windows-1252',
};
/** How much of a page is searched for what it declares. */
const BEGINNING_BYTES = 16_384;
const XML_DECLARATION = /^<\?xml\s[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w:.-]{1,40})["']/;
const COMMENT = /<!--[^]*?(?:-->|$)/g;
const META = /<meta[\s/]([^>]{0,1000})>/gi;
const ATTRIBUTE = /([^\s"'>/=]{1,40})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"']*))/g;
const CHARSET = /charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i;

export function decodePage({ body, charset, contentType }: WebAnswer): string {
  const beginning = body.toString('latin1', 0, BEGINNING_BYTES);
  const [, marked] = BEGINNINGS.find(([bytes]) => beginning.startsWith(bytes)) ?? [];
  const isHtml = contentType === null || contentType === 'text/html';
  const encoding = encodingOf(marked) ?? encodingOf(charset) ?? declaredEncoding(beginning, isHtml) ?? 'utf-8';
  return new TextDecoder(encoding).decode(body);
}

function declaredEncoding(beginning: string, isHtml: boolean): string | null {
  for (const label of [...(isHtml ? metaLabels(beginning) : []), XML_DECLARATION.exec(beginning)?.[1]]) {
    const encoding = encodingOf(label);
    if (encoding !== null) return INSTEAD[encoding] ?? encoding;
  }
  return null;
}

function metaLabels(html: string): (string | undefined)[] {
  return [...html.replaceAll(COMMENT, '').matchAll(META)].map(([, text = '']) => {
    const attributes = [...text.matchAll(ATTRIBUTE)].map(([, name = '', ...values]) => [
      name.toLowerCase(),
      values.find((value) => value !== undefined) ?? '',
    ]);
    const { charset, content = '', 'http-equiv': header = '' } = Object.fromEntries(attributes) as Attributes;
    return charset ?? (header.toLowerCase() === 'content-type' ? CHARSET.exec(content)?.[1] : undefined);
  });
}
type Attributes = Partial<Record<'charset' | 'content' | 'http-equiv', string>>;

/** Null: none is named, or one that is not known. */
function encodingOf(label: string | null | undefined): string | null {
  try {
    return label === null || label === undefined ? null : new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}
