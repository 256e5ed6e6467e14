// Markdown as a text of Signal, which has styles as ranges of the text and no marks.
import { parseMarkdown } from 'chat';
import type { MarkdownNode } from '../rules/markdown-tokens.ts';

const STYLES: Readonly<Record<string, string>> = {
  heading: 'BOLD',
  strong: 'BOLD',
  emphasis: 'ITALIC',
  delete: 'STRIKETHROUGH',
  inlineCode: 'MONOSPACE',
  code: 'MONOSPACE',
};
const SPOILER = /\|\|([^|]+)\|\|/g;

/** The text without marks, and its styles: `start:length:STYLE`, in UTF-16 units. */
export function toSignalText(markdown: string): { text: string; styles: string[] } {
  const writer = new StyledText();
  // The tree has the form of mdast.
  writer.addAll((parseMarkdown(markdown) as unknown as MarkdownNode).children ?? [], '\n\n');
  return { text: writer.text, styles: writer.styles };
}

class StyledText {
  text = '';
  readonly styles: string[] = [];
  /** What stands before each line. */
  #indent = '';

  addAll(nodes: readonly MarkdownNode[], gap = ''): void {
    for (const [index, node] of nodes.entries()) {
      if (index > 0) this.#add(gap);
      this.#addStyled(STYLES[node.type], () => this.#addNode(node));
    }
  }

  #add(more: string): void {
    this.text += more.replaceAll('\n', `\n${this.#indent}`);
  }

  #addStyled(style: string | undefined, addInner: () => void): void {
    const start = this.text.length;
    addInner();
    const length = this.text.length - start;
    if (style !== undefined && length > 0) this.styles.push(`${start}:${length}:${style}`);
  }

  #addNode(node: MarkdownNode): void {
    const { type, children = [], value = '' } = node;
    if (type === 'text') this.#addText(value);
    else if (type === 'break') this.#add('\n');
    else if (type === 'thematicBreak') this.#add('———');
    else if (type === 'image') this.#add([node['alt'], node['url']].filter(Boolean).join(' '));
    else if (type === 'link') this.#addLink(node);
    else if (type === 'list') this.#addList(node);
    else if (type === 'blockquote') this.#addIndented('> ', '> ', children, '\n\n');
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
      this.#addStyled('SPOILER', () => this.#add(inner));
      end = index + marked.length;
    }
    this.#add(value.slice(end));
  }

  #addLink({ children = [], url }: MarkdownNode): void {
    const start = this.text.length;
    this.addAll(children);
    const label = this.text.slice(start);
    if (label !== url && `mailto:${label}` !== url) this.#add(` (${String(url)})`);
  }

  #addList({ children = [], ordered, start }: MarkdownNode): void {
    for (const [index, item] of children.entries()) {
      if (index > 0) this.#add('\n');
      const mark = ordered === true ? `${Number(start ?? 1) + index}. ` : '• ';
      this.#addIndented(mark, ' '.repeat(mark.length), item.children ?? [], '\n');
    }
  }

  #addIndented(mark: string, indent: string, nodes: readonly MarkdownNode[], gap: string): void {
    const outer = this.#indent;
    this.#add(mark);
    this.#indent += indent;
    this.addAll(nodes, gap);
    this.#indent = outer;
  }
}
