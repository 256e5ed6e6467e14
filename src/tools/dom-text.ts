// Writes a DOM tree as Markdown or as plain text: what a reader sees, in the order of the page.
// Linear in the size of the tree; a tree that is deeper than any page has reason to be is flattened
// from there on.

export type TextMode = 'markdown' | 'text';

export interface DomTextOptions {
  mode: TextMode;
  /** What links are relative to. */
  baseUrl: string;
}

/** The part of the DOM that is needed: the page was parsed without a browser. */
interface DomNode {
  nodeType: number;
  nodeName: string;
  textContent: string | null;
  childNodes: Iterable<DomNode>;
  getAttribute?(name: string): string | null;
}

const DEPTH_MAX = 150;
const URL_CHARS_MAX = 2000;
const ELEMENT = 1;
const TEXT = 3;

const LEFT_OUT = new Set(
  'SCRIPT STYLE NOSCRIPT TEMPLATE SVG CANVAS OBJECT EMBED IFRAME FRAME HEAD TITLE META LINK INPUT SELECT TEXTAREA DIALOG MAP'.split(
    ' ',
  ),
);
const BLOCKS = new Set(
  (
    'ADDRESS ARTICLE ASIDE BLOCKQUOTE BODY CENTER DD DETAILS DIV DL DT FIELDSET FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER ' +
    'HR HTML LI MAIN NAV OL P PRE SECTION SUMMARY TABLE TBODY TD TFOOT TH THEAD TR UL'
  ).split(' '),
);
const MARKS: Readonly<Record<string, string>> = {
  STRONG: '**',
  B: '**',
  EM: '*',
  I: '*',
  CODE: '`',
  KBD: '`',
  SAMP: '`',
};

/** The text of a tree, blocks apart by a blank line. */
export function domText(root: unknown, options: DomTextOptions): string {
  // The parser's own types are those of a browser, which this is not.
  return new Writer(options)
    .blocks(root as DomNode, 0)
    .join('\n\n')
    .replaceAll(/\n{3,}/g, '\n\n');
}

class Writer {
  readonly #isMarkdown: boolean;
  readonly #baseUrl: string;

  constructor({ mode, baseUrl }: DomTextOptions) {
    this.#isMarkdown = mode === 'markdown';
    this.#baseUrl = baseUrl;
  }

  /** The blocks of an element; inline content between block elements is a separate block. */
  blocks(parent: DomNode, depth: number): string[] {
    if (depth > DEPTH_MAX) return textBlock(parent.textContent ?? '');
    const found: string[] = [];
    let run = '';
    const flush = (): void => {
      found.push(...textBlock(run));
      run = '';
    };
    for (const child of parent.childNodes) {
      if (child.nodeType === ELEMENT && BLOCKS.has(nameOf(child))) {
        flush();
        found.push(...this.#block(child, depth + 1));
      } else run += this.#inline(child, depth + 1);
    }
    flush();
    return found;
  }

  #block(element: DomNode, depth: number): string[] {
    const name = nameOf(element);
    switch (name) {
      case 'H1':
      case 'H2':
      case 'H3':
      case 'H4':
      case 'H5':
      case 'H6':
        return this.#heading(element, Number(name[1]), depth);
      case 'UL':
      case 'OL':
        return this.#list(element, name === 'OL', depth);
      case 'PRE':
        return this.#code(element);
      case 'BLOCKQUOTE':
        return this.#quote(element, depth);
      case 'TABLE':
        return this.#table(element, depth);
      case 'HR':
        return this.#isMarkdown ? ['---'] : [];
      default:
        return this.blocks(element, depth);
    }
  }

  #heading(element: DomNode, level: number, depth: number): string[] {
    const text = collapsed(this.#inline(element, depth)).replaceAll('\n', ' ');
    if (text === '') return [];
    return [this.#isMarkdown ? `${'#'.repeat(level)} ${text}` : text];
  }

  #list(element: DomNode, isOrdered: boolean, depth: number): string[] {
    let number = 0;
    const items: string[] = [];
    for (const child of element.childNodes) {
      const text = (
        child.nodeType === ELEMENT && BLOCKS.has(nameOf(child))
          ? this.blocks(child, depth + 1)
          : textBlock(this.#inline(child, depth + 1))
      ).join('\n');
      if (text === '') continue;
      number += 1;
      const mark = isOrdered ? `${number}. ` : '- ';
      items.push(mark + text.replaceAll('\n', `\n${' '.repeat(mark.length)}`));
    }
    return items.length === 0 ? [] : [items.join('\n')];
  }

  #code(element: DomNode): string[] {
    const text = (element.textContent ?? '').replace(/^\n/, '').trimEnd();
    if (text.trim() === '') return [];
    if (!this.#isMarkdown) return [text];
    const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
    const fence = '`'.repeat(longest + 1);
    return [`${fence}${findLanguage(element)}\n${text}\n${fence}`];
  }

  #quote(element: DomNode, depth: number): string[] {
    const text = this.blocks(element, depth).join('\n\n');
    if (text === '') return [];
    return [this.#isMarkdown ? text.replaceAll(/^/gm, '> ') : text];
  }

  /** A table of data; one that only lays out the page, a single column, is its content. */
  #table(element: DomNode, depth: number): string[] {
    const rows = listRows(element, 0);
    const width = Math.max(0, ...rows.map((row) => row.length));
    if (width < 2) return rows.flat().flatMap((cell) => this.blocks(cell, depth + 1));
    const texts = rows.map((row) => row.map((cell) => this.#cell(cell, depth + 1)));
    const lines = texts.map((row) => row.concat(Array(width - row.length).fill('')).join(' | '));
    if (!this.#isMarkdown) return [lines.join('\n')];
    const [first = '', ...rest] = lines.map((line) => `| ${line} |`);
    return [[first, `|${' --- |'.repeat(width)}`, ...rest].join('\n')];
  }

  #cell(cell: DomNode, depth: number): string {
    const text = this.blocks(cell, depth)
      .join(' ')
      .replaceAll(/(?<!\s)\s*\n\s*/g, ' ');
    return this.#isMarkdown ? text.replaceAll('|', String.raw`\|`) : text;
  }

  #inline(node: DomNode, depth: number): string {
    if (node.nodeType === TEXT) return (node.textContent ?? '').replaceAll(/\s+/g, ' ');
    if (node.nodeType !== ELEMENT || LEFT_OUT.has(nameOf(node))) return '';
    if (depth > DEPTH_MAX) return (node.textContent ?? '').replaceAll(/\s+/g, ' ');
    const name = nameOf(node);
    if (name === 'BR') return '\n';
    if (name === 'IMG') return this.#image(node);
    let text = '';
    for (const child of node.childNodes) {
      const inner = this.#inline(child, depth + 1);
      // Blocks inside of links and the like must not run into each other.
      text += child.nodeType === ELEMENT && BLOCKS.has(nameOf(child)) ? ` ${inner} ` : inner;
    }
    if (!this.#isMarkdown) return text;
    if (name === 'A') return this.#link(node, text);
    const mark = MARKS[name];
    return mark === undefined ? text : around(text, mark, mark);
  }

  #link(element: DomNode, text: string): string {
    const url = this.#toUrl(element.getAttribute?.('href'));
    return url === null ? text : around(text, '[', `](${url})`);
  }

  #image(element: DomNode): string {
    const alt = collapsed(element.getAttribute?.('alt') ?? '').replaceAll('\n', ' ');
    if (!this.#isMarkdown || alt === '') return alt;
    const url = this.#toUrl(element.getAttribute?.('src'));
    return url === null ? alt : `![${alt}](${url})`;
  }

  /**
   * The whole URL of a link that leads somewhere; null for others, such as those within the page.
   */
  #toUrl(href: string | null | undefined): string | null {
    if (href === null || href === undefined || href.startsWith('#') || href.length > URL_CHARS_MAX) return null;
    const url = URL.parse(href, this.#baseUrl);
    if (url === null || !['http:', 'https:', 'mailto:'].includes(url.protocol)) return null;
    return url.href.replaceAll('(', '%28').replaceAll(')', '%29');
  }
}

function nameOf(node: DomNode): string {
  return node.nodeName.toUpperCase();
}

/** One block, unless there is nothing to see. */
function textBlock(run: string): string[] {
  const text = collapsed(run);
  return text === '' ? [] : [text];
}

function collapsed(text: string): string {
  return text
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .trim();
}

/** The marks close around the text, with its blanks outside. */
function around(text: string, open: string, close: string): string {
  const inner = text.trim();
  if (inner === '') return text;
  const start = text.indexOf(inner);
  return text.slice(0, start) + open + inner + close + text.slice(start + inner.length);
}

/** The language that highlighters name in a class. */
function findLanguage(pre: DomNode): string {
  for (const element of [pre, ...pre.childNodes]) {
    const [, language] =
      /(?:^|\s)(?:language|lang|highlight-source)-([\w+#-]{1,30})/.exec(element.getAttribute?.('class') ?? '') ?? [];
    if (language !== undefined) return language;
  }
  return '';
}

function listRows(element: DomNode, depth: number): DomNode[][] {
  const rows: DomNode[][] = [];
  if (depth > 3) return rows;
  for (const child of element.childNodes) {
    const name = nameOf(child);
    if (name === 'TR')
      rows.push([...child.childNodes].filter((cell) => nameOf(cell) === 'TD' || nameOf(cell) === 'TH'));
    else if (name === 'TBODY' || name === 'THEAD' || name === 'TFOOT') rows.push(...listRows(child, depth + 1));
    else if (name === 'CAPTION') rows.push([child]);
  }
  return rows.filter((row) => row.length > 0);
}
