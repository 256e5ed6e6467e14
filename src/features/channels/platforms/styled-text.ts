// Markdown as a text without marks and the ranges of its styles, for platforms that take these
// apart. What a platform cannot show as a style is written into the text: an address, a box, a
// quote.
import { parseMarkdown, tableToAscii } from 'chat';
import { hasVisible, resolveReferences, type MarkdownNode } from '../rules/markdown.ts';

type Style = 'bold' | 'italic' | 'strikethrough' | 'spoiler' | 'code' | 'pre' | 'blockquote' | 'text_link';

/** A style of a range, in UTF-16 units. */
export interface StyledSpan {
  type: Style;
  offset: number;
  length: number;
  /** The address of a link. */
  url?: string;
  /** The language of code. */
  language?: string;
}

/** What a platform shows by itself. */
interface TextForm {
  /** Addresses that it takes as links. Absent: none. */
  links?: RegExp;
  /** True: quotes, and tables as text with one width for all characters. */
  hasBlocks?: true;
}

const STYLES: Readonly<Record<string, Style>> = {
  heading: 'bold',
  strong: 'bold',
  emphasis: 'italic',
  delete: 'strikethrough',
  inlineCode: 'code',
  code: 'pre',
};
const SPOILER = /\|\|([^|]+)\|\|/g;

/** The text and its styles, inner ones first; both empty if nothing of it would be seen. */
export function toStyledText(markdown: string, form: TextForm): { text: string; spans: StyledSpan[] } {
  const writer = new StyledText(form);
  // The tree has the form of mdast.
  writer.addAll(resolveReferences((parseMarkdown(markdown) as unknown as MarkdownNode).children ?? []), '\n\n');
  return hasVisible(writer.text) ? { text: writer.text, spans: writer.spans } : { text: '', spans: [] };
}

/** A table as lines of text, in which each link is followed by its address. */
export function tableToText(table: MarkdownNode): string {
  const plain = (node: MarkdownNode): MarkdownNode => {
    const { type, children } = node;
    if (type === 'link' || type === 'image') return { type: 'text', value: withAddress(textOf(node), node['url']) };
    if (type === 'footnoteReference') return { type: 'text', value: textOf(node) };
    return children === undefined ? node : { ...node, children: children.map(plain) };
  };
  return tableToAscii(plain(table) as unknown as Parameters<typeof tableToAscii>[0]);
}

function textOf({ type, value, alt, label, children = [] }: MarkdownNode): string {
  if (type === 'footnoteReference') return `[${String(label)}]`;
  if (type === 'image') return typeof alt === 'string' ? alt : '';
  return value ?? children.map(textOf).join('');
}

function withAddress(label: string, url: unknown): string {
  if (!hasVisible(label)) return String(url);
  return isAddress(label, url) ? label : `${label} (${String(url)})`;
}

function isAddress(label: string, url: unknown): boolean {
  return label === url || `mailto:${label}` === url;
}

class StyledText {
  text = '';
  readonly spans: StyledSpan[] = [];
  readonly #form: TextForm;
  /** What stands before each line. */
  #indent = '';
  readonly #open = new Set<Style>();

  constructor(form: TextForm) {
    this.#form = form;
  }

  addAll(nodes: readonly MarkdownNode[], gap = ''): void {
    for (const [index, node] of nodes.entries()) {
      if (index > 0) this.#add(gap);
      const { lang } = node;
      const language = typeof lang === 'string' && lang !== '' ? { language: lang } : {};
      this.#addStyled(STYLES[node.type], () => this.#addNode(node), language);
    }
  }

  #add(more: string): void {
    this.text += more.replaceAll('\n', `\n${this.#indent}`);
  }

  /** A style within itself is one, and a link that is code would be no link. */
  #addStyled(type: Style | undefined, addInner: () => void, more: Partial<StyledSpan> = {}): void {
    if (type === undefined || this.#open.has(type) || (type === 'code' && this.#open.has('text_link')))
      return addInner();
    const offset = this.text.length;
    this.#open.add(type);
    addInner();
    this.#open.delete(type);
    const length = this.text.length - offset;
    if (length > 0) this.spans.push({ type, offset, length, ...more });
  }

  #addNode(node: MarkdownNode): void {
    const { type, children = [], value = '', label } = node;
    if (type === 'text') this.#addText(value);
    else if (type === 'break') this.#add('\n');
    else if (type === 'thematicBreak') this.#add('———');
    else if (type === 'image') this.#addLink({ ...node, children: [{ type: 'text', value: textOf(node) }] });
    else if (type === 'link') this.#addLink(node);
    else if (type === 'definition') this.#add(`[${String(label)}]: ${String(node['url'])}`);
    else if (type === 'footnoteReference') this.#add(textOf(node));
    else if (type === 'footnoteDefinition') this.#addIndented(`[${String(label)}] `, '  ', children);
    else if (type === 'list') this.#addList(node);
    else if (type === 'blockquote') this.#addQuote(children);
    else if (type === 'table' && this.#form.hasBlocks) this.#addStyled('pre', () => this.#add(tableToText(node)));
    else {
      this.#add(value);
      this.addAll(children, type === 'table' ? '\n' : type === 'tableRow' ? ' | ' : '');
    }
  }

  #addText(value: string): void {
    let end = 0;
    for (const { 0: marked, 1: inner = '', index } of value.matchAll(SPOILER)) {
      // `a || b || c` has none.
      if (inner !== inner.trim()) continue;
      this.#add(value.slice(end, index));
      this.#addStyled('spoiler', () => this.#add(inner));
      end = index + marked.length;
    }
    this.#add(value.slice(end));
  }

  #addLink({ children = [], url }: MarkdownNode): void {
    const label = children.map(textOf).join('');
    if (isAddress(label, url)) return this.#add(label);
    if (!hasVisible(label)) return this.#add(String(url));
    if (this.#form.links?.test(String(url)) === true)
      return this.#addStyled('text_link', () => this.addAll(children), { url: String(url) });
    this.addAll(children);
    this.#add(` (${String(url)})`);
  }

  #addList({ children = [], ordered, start }: MarkdownNode): void {
    for (const [index, { checked, children: blocks = [] }] of children.entries()) {
      if (index > 0) this.#add('\n');
      const mark = ordered === true ? `${Number(start ?? 1) + index}. ` : '• ';
      const box = typeof checked === 'boolean' ? (checked ? '☑ ' : '☐ ') : '';
      this.#addIndented(mark + box, ' '.repeat(mark.length), blocks);
    }
  }

  /** Platforms know no quote within another block. */
  #addQuote(nodes: readonly MarkdownNode[]): void {
    if (this.#form.hasBlocks && this.#indent === '' && !this.#open.has('blockquote'))
      this.#addStyled('blockquote', () => this.addAll(nodes, '\n\n'));
    else this.#addIndented('> ', '> ', nodes, '\n\n');
  }

  #addIndented(mark: string, indent: string, nodes: readonly MarkdownNode[], gap = '\n'): void {
    const outer = this.#indent;
    this.#add(mark);
    this.#indent += indent;
    this.addAll(nodes, gap);
    this.#indent = outer;
  }
}
