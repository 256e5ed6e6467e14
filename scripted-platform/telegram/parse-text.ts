// Reads a text that a bot sends as Telegram does, in each of its parse modes.
import {
  bytesBefore,
  parseFault,
  sortEntities,
  type Entity,
  type FormattedText,
  type OpenEntity,
} from './formatted-text.ts';
import { parseMarkdownV2 } from './parse-markdown-v2.ts';
import { Refused } from './refused.ts';

/** Throws `Refused` with Telegram's words. */
export function parseText(source: string, parseMode: string | undefined): FormattedText {
  switch (parseMode?.toLowerCase() ?? '') {
    case '':
      return { text: source, entities: [] };
    case 'markdownv2':
      return parseMarkdownV2(source);
    case 'markdown':
      return parseMarkdown(source);
    case 'html':
      return parseHtml(source);
    default:
      throw new Refused(400, 'unsupported parse_mode');
  }
}

const OLD_MARKS: Record<string, string> = { '`': 'code', '*': 'bold', _: 'italic', '[': 'text_link' };

/** The older Markdown, without nesting. */
function parseMarkdown(source: string): FormattedText {
  const result: FormattedText = { text: '', entities: [] };
  let at = 0;
  while (at < source.length) {
    const char = source.charAt(at);
    const isEscaped = char === '\\' && '_*`['.includes(source.charAt(at + 1) || ' ');
    const type = isEscaped ? undefined : OLD_MARKS[char];
    if (type === undefined) {
      result.text += isEscaped ? source.charAt(at + 1) : char;
      at += isEscaped ? 2 : 1;
      continue;
    }
    const mark = source.startsWith('```', at) ? '```' : char;
    const end = source.indexOf(char === '[' ? ']' : mark, at + mark.length);
    if (end === -1) throw parseFault(`Can't find end of the entity starting at byte offset ${bytesBefore(source, at)}`);
    let text = source.slice(at + mark.length, end);
    const entity: Entity = { type: mark === '```' ? 'pre' : type, offset: result.text.length, length: 0 };
    at = end + mark.length;
    if (mark === '```') {
      const [head = '', language = ''] = /^([^\s`]*)(?:\n|\s|$)/.exec(text) ?? [];
      if (head.length < text.length || language === '') text = text.slice(head.length);
      if (language !== '' && text !== '' && head !== '') entity.language = language;
    } else if (mark === '[') {
      const isAddressed = source.charAt(at) === '(';
      const close = isAddressed ? source.indexOf(')', at) : at - 1;
      entity.url = isAddressed ? source.slice(at + 1, close === -1 ? undefined : close) : text;
      at = close === -1 ? source.length : close + 1;
    }
    result.text += text;
    entity.length = text.length;
    if (text !== '') result.entities.push(entity);
  }
  return result;
}

const HTML_TYPES: Record<string, string> = {
  b: 'bold',
  strong: 'bold',
  i: 'italic',
  em: 'italic',
  u: 'underline',
  ins: 'underline',
  s: 'strikethrough',
  strike: 'strikethrough', // prettier-ignore
  del: 'strikethrough',
  'tg-spoiler': 'spoiler',
  span: 'spoiler',
  a: 'text_link',
  code: 'code',
  pre: 'pre',
  blockquote: 'blockquote', // prettier-ignore
  'tg-emoji': 'custom_emoji', // prettier-ignore
};

function parseHtml(source: string): FormattedText {
  let text = '';
  const entities: Entity[] = [];
  const open: (OpenEntity & { tag: string; argument: string })[] = [];
  const piece = /<(\/?)([^<>]*)>|<|&(#?\w+);|[^<&]+|&/g;
  for (const match of source.matchAll(piece)) {
    const [all, slash, inside = '', reference] = match;
    const name = /^[^\s/]*/.exec(inside)?.[0] ?? '';
    const attributes = inside.slice(name.length);
    const where = `at byte offset ${bytesBefore(source, match.index)}`;
    if (reference !== undefined) text += readReference(reference) ?? all;
    else if (all === '<') throw parseFault(`Unclosed start tag ${where}`);
    else if (slash === undefined) text += all;
    else if (slash === '') {
      const tag = name.toLowerCase();
      const type = HTML_TYPES[tag];
      if (type === undefined) throw parseFault(`Unsupported start tag "${tag}" ${where}`);
      // prettier-ignore
      if (tag === 'span' && !/class=["']?tg-spoiler/.test(attributes)) throw parseFault(`Tag "span" must have class "tg-spoiler" ${where}`);
      const argument = /(?:href|class|emoji-id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/.exec(attributes);
      // prettier-ignore
      open.push({ type, tag, offset: text.length, at: match.index, argument: argument?.[1] ?? argument?.[2] ?? argument?.[3] ?? '' });
    } else {
      const last = open.pop();
      if (last === undefined) throw parseFault(`Unexpected end tag ${where}`);
      if (name !== '' && name.toLowerCase() !== last.tag)
        throw parseFault(`Unmatched end tag ${where}, expected "</${last.tag}>", found "</${name.toLowerCase()}>"`);
      const entity: Entity = { type: last.type, offset: last.offset, length: text.length - last.offset };
      const language =
        last.type === 'code' && open.at(-1)?.type === 'pre' ? last.argument.replace(/^language-/, '') : '';
      const outer = open.at(-1);
      if (language !== '' && outer !== undefined) {
        outer.language = language;
        continue;
      }
      if (last.language !== undefined) entity.language = last.language;
      if (last.type === 'text_link') entity.url = last.argument === '' ? text.slice(last.offset) : last.argument;
      if (last.type === 'custom_emoji') entity.custom_emoji_id = last.argument;
      if (entity.length > 0) entities.push(entity);
    }
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) throw parseFault(`Can't find end tag corresponding to start tag "${unclosed.tag}"`);
  return { text, entities: sortEntities(entities) };
}

const REFERENCES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"' };

/** Telegram knows four names, and numbers. */
function readReference(reference: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(reference) ?? [];
  const code = hex === undefined ? Number(decimal ?? 0) : Number.parseInt(hex, 16);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : REFERENCES[reference];
}
