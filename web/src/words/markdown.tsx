// Markdown as React elements. It makes no HTML: tags in a text stay text. Images are links, so a
// text makes the page request nothing, and links lead to other sites only.
import { memo, type ReactElement, type ReactNode } from 'react';
import Parsed, { type Components } from 'react-markdown';
import gfm from 'remark-gfm';
import { piecesOf, withoutEscapes } from '../format/visible-text.ts';
import { LongText, SafeText } from '../parts/safe-text.tsx';
import { CodeBlock } from './code-block.tsx';
import { containerDepth, DEPTH_MAX, isDeeper } from './depth.ts';

/** What the plugin below reads of the parsed tree. */
interface Node {
  type: string;
  tagName?: string;
  value?: string;
  properties?: Record<string, unknown>;
  children?: Node[];
  data?: unknown;
}

/** Nodes of a tree below each other: a container is up to two, and emphasis is nested, too. */
const TREE_DEPTH_MAX = 3 * DEPTH_MAX;

const LINK = /^(?:https?|mailto):/i;

/** A text is parsed once, not whenever something beside it changes. */
export const Markdown = memo(function Markdown({ text }: { text: string }): ReactElement {
  const plain = withoutEscapes(text);
  if (containerDepth(plain) > DEPTH_MAX) return <LongText text={text} />;
  return (
    <div className="words" dir="auto">
      <Parsed
        remarkPlugins={[gfm, deepAsWritten]}
        rehypePlugins={[markUnseen]}
        urlTransform={(url) => url}
        components={COMPONENTS}
      >
        {plain}
      </Parsed>
    </div>
  );
});

/** A link to another site. Any other address is shown and leads nowhere. */
function Link({ href = '', children }: { href?: string | undefined; children?: ReactNode }): ReactElement {
  if (!LINK.test(href)) return <span title={href}>{children}</span>;
  return (
    <a href={href} target="_blank" rel="noreferrer" title={href}>
      {children}
    </a>
  );
}

/** A heading of a text is none of the page. */
const heading = ({ children }: { children?: ReactNode }): ReactElement => <p className="words-heading">{children}</p>;

const COMPONENTS: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => (
    <Link href={typeof src === 'string' ? src : ''}>
      image: <SafeText text={alt === undefined || alt === '' ? String(src) : alt} />
    </Link>
  ),
  input: ({ checked }) => (checked === true ? '☑' : '☐'),
  pre: ({ node, children }) => <CodeBlock text={codeOf(node as Node)}>{children}</CodeBlock>,
  table: ({ children }) => (
    <div className="scroll-x" tabIndex={0} role="group" aria-label="Table">
      <table className="plain">{children}</table>
    </div>
  ),
  h1: heading,
  h2: heading,
  h3: heading,
  h4: heading,
  h5: heading,
  h6: heading,
};

function codeOf({ data }: Node): string {
  return typeof data === 'string' ? data : '';
}

/** A tree that is too deep becomes its text. */
function deepAsWritten() {
  return (root: Node, file: { value: unknown }): void => {
    if (isDeeper(root, TREE_DEPTH_MAX)) root.children = [{ type: 'code', value: String(file.value) }];
  };
}

/** Shows invisible characters as marks; a text brings no ids into the page. */
function markUnseen() {
  return (root: Node): void => markIn(root);
}

function markIn(node: Node): void {
  delete node.properties?.['id'];
  if (node.tagName === 'pre') node.data = textIn(node).replace(/\n$/, '');
  node.children =
    node.children?.flatMap((child) => {
      if (child.type !== 'text' && child.type !== 'raw') {
        markIn(child);
        return [child];
      }
      const pieces = piecesOf(child.value ?? '').map(({ text, mark }): Node => {
        if (mark === null) return { type: 'text', value: text };
        const properties = { className: ['mark'], title: `Invisible character ${mark}` };
        return { type: 'element', tagName: 'span', properties, children: [{ type: 'text', value: mark }] };
      });
      // A block of HTML is a paragraph of its text.
      const isBlock = child.type === 'raw' && (node.type === 'root' || node.tagName === 'blockquote');
      return isBlock ? [{ type: 'element', tagName: 'p', properties: {}, children: pieces }] : pieces;
    }) ?? [];
}

function textIn({ value, children = [] }: Node): string {
  return value ?? children.map(textIn).join('');
}
