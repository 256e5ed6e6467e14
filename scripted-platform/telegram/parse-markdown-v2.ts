// Reads MarkdownV2 as Telegram does: into the text and its entities, or the mistake that Telegram
// names.
import {
  bytesBefore,
  cannotFindEnd,
  parseFault,
  sortEntities,
  type Entity,
  type FormattedText,
  type OpenEntity,
} from './formatted-text.ts';
import type { Refused } from './refused.ts';

/** The longest mark first. */
const MARKS: [string, string][] = [
  ['```', 'pre'],
  ['`', 'code'],
  ['__', 'underline'],
  ['_', 'italic'],
  ['*', 'bold'],
  ['~', 'strikethrough'],
  ['||', 'spoiler'],
  ['![', 'custom_emoji'],
  ['[', 'text_link'],
];
const RESERVED = /[_*[\]()~`>#+\-=|{}.!]/;
const END_MARKS: Record<string, string> = { text_link: ']', custom_emoji: ']' };

class MarkdownV2Reader {
  readonly #source: string;
  readonly #open: OpenEntity[] = [];
  readonly #entities: Entity[] = [];
  #at = 0;
  #text = '';

  constructor(source: string) {
    this.#source = source;
  }

  read(): FormattedText {
    this.#beginQuote();
    while (this.#at < this.#source.length) this.#step();
    if (this.#open.at(-1)?.type === 'blockquote') this.#close();
    const unclosed = this.#open.at(-1);
    if (unclosed !== undefined) throw cannotFindEnd(unclosed, this.#source);
    return { text: this.#text, entities: sortEntities(this.#entities) };
  }

  #step(): void {
    const source = this.#source;
    const char = source.charAt(this.#at);
    const inner = this.#open.at(-1);
    const next = source.charCodeAt(this.#at + 1);
    if (char === '\\' && next > 0 && next <= 126) return this.#take(source.charAt(this.#at + 1), 2);
    if (inner?.type === 'code' || inner?.type === 'pre') {
      const end = inner.type === 'pre' ? '```' : '`';
      if (source.startsWith(end, this.#at)) return this.#close(end.length);
      if (char === '`') throw reserved(char);
      return this.#take(char, 1);
    }
    if (char === '\n') return this.#endLine();
    if (!RESERVED.test(char)) return this.#take(char, 1);
    const mark = MARKS.find(([start]) => source.startsWith(start, this.#at));
    const end = inner === undefined ? undefined : (END_MARKS[inner.type] ?? mark?.[0]);
    if (
      inner !== undefined &&
      end !== undefined &&
      source.startsWith(end, this.#at) &&
      (END_MARKS[inner.type] !== undefined || mark?.[1] === inner.type)
    )
      // prettier-ignore
      return this.#close(end.length);
    if (mark === undefined) throw reserved(char);
    this.#begin(mark[1], mark[0].length);
  }

  #take(text: string, length: number): void {
    this.#text += text;
    this.#at += length;
  }

  #begin(type: string, markLength: number): void {
    const entity: OpenEntity = { type, offset: this.#text.length, at: this.#at };
    this.#at += markLength;
    if (type === 'pre') {
      const [, language = '', newline = ''] = /^([^\s`]*)(\r\n|\n\r|\n|\r)?/.exec(this.#source.slice(this.#at)) ?? [];
      if (language !== '' && this.#source.charAt(this.#at + language.length) !== '`') {
        entity.language = language;
        this.#at += language.length + newline.length;
      } else if (language === '') this.#at += newline.length;
    }
    this.#open.push(entity);
  }

  #close(markLength = 0): void {
    // Its caller has seen that one is open.
    const { type, offset, language } = this.#open.pop() as OpenEntity;
    this.#at += markLength;
    const entity: Entity = { type, offset, length: this.#text.length - offset };
    if (language !== undefined) entity.language = language;
    if (type in END_MARKS) {
      const url = this.#readUrl(type) ?? this.#text.slice(offset);
      if (type === 'custom_emoji') entity.custom_emoji_id = /^tg:\/\/emoji\?id=(\d+)$/.exec(url)?.[1] ?? '';
      else entity.url = url;
    }
    if (entity.length > 0) this.#entities.push(entity);
  }

  /** The address in parentheses after a link; undefined: there is none. */
  #readUrl(type: string): string | undefined {
    if (this.#source.charAt(this.#at) !== '(') {
      if (type === 'custom_emoji') throw parseFault('Custom emoji entity must contain a tg://emoji URL');
      return undefined;
    }
    const begin = this.#at + 1;
    const [all, url = ''] = /^\(((?:\\[^]|[^\\)])*)\)/.exec(this.#source.slice(this.#at)) ?? [];
    if (all === undefined) {
      const what = type === 'custom_emoji' ? 'a custom emoji URL' : 'a URL';
      throw parseFault(`Can't find end of ${what} at byte offset ${bytesBefore(this.#source, begin)}`);
    }
    this.#at += all.length;
    return url.replaceAll(/\\([^])/g, '$1');
  }

  #endLine(): void {
    const isQuoted = this.#open.some(({ type }) => type === 'blockquote');
    const isEnd = isQuoted && this.#source.charAt(this.#at + 1) !== '>';
    if (isEnd) {
      const inner = this.#open.at(-1);
      if (inner !== undefined && inner.type !== 'blockquote') throw cannotFindEnd(inner, this.#source);
      this.#close();
    }
    this.#take('\n', 1);
    if (isQuoted && !isEnd) this.#at += 1;
    else if (!isQuoted) this.#beginQuote();
  }

  #beginQuote(): void {
    if (this.#source.charAt(this.#at) === '>') this.#begin('blockquote', 1);
  }
}

/** Throws `Refused`. */
export function parseMarkdownV2(source: string): FormattedText {
  return new MarkdownV2Reader(source).read();
}

function reserved(char: string): Refused {
  return parseFault(`Character '${char}' is reserved and must be escaped with the preceding '\\'`);
}
