// The thread that reads a web page: parsing what strangers wrote may take long or need much memory,
// and must not hold up the thread that renews leases. It is given one page, posts what it found in
// it, and ends.
import { parentPort, workerData } from 'node:worker_threads';
import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';
import { domText, type TextMode } from './dom-text.ts';

/** The input of the thread. */
export interface PageExtraction {
  html: string;
  url: string;
  mode: TextMode;
}

/** The message that it posts. */
export interface ReadPage {
  title: string;
  text: string;
}

/** The part of the parser's tree that is used here. */
interface PageElement {
  textContent: string | null;
  getAttribute(name: string): string | null;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Iterable<PageElement>;
  append(...elements: PageElement[]): void;
  remove(): void;
}

type PageDocument = PageElement & { head: PageElement; body: PageElement };

const ELEMENTS_MAX = 200_000;
/**
 * An article of fewer characters than this does not count as the page's content: then the whole
 * page is used.
 */
const ARTICLE_CHARS_MIN = 200;
/** The parts of a page that are not its content. */
const CLUTTER = 'nav, footer, [role="navigation"], [aria-hidden="true"], [hidden]';

parentPort?.postMessage(readPage(workerData as PageExtraction));

function readPage({ html, url, mode }: PageExtraction): ReadPage {
  const document = parse(html);
  const baseUrl = URL.parse(document.querySelector('base')?.getAttribute('href') ?? '', url)?.href ?? url;
  const title = (document.querySelector('title')?.textContent ?? '').replaceAll(/\s+/g, ' ').trim();
  const article = extractArticle(html);
  if (article !== null) {
    const text = domText(article.content, { mode, baseUrl });
    if (text.length >= ARTICLE_CHARS_MIN) return { title: title || article.title, text };
  }
  for (const element of document.body.querySelectorAll(CLUTTER)) element.remove();
  return { title, text: domText(document.body, { mode, baseUrl }) };
}

/**
 * The main content of the page; null when none is found. Works on a separate tree, which it
 * modifies.
 */
function extractArticle(html: string): { title: string; content: unknown } | null {
  try {
    const reader = new Readability(parse(html) as never, {
      maxElemsToParse: ELEMENTS_MAX,
      keepClasses: true,
      serializer: (node): unknown => node,
    });
    const article = reader.parse();
    return article?.content ? { title: article.title ?? '', content: article.content } : null;
  } catch {
    // Too large, or of a shape that it cannot handle: the whole page is read instead.
    return null;
  }
}

/**
 * The parser leaves misplaced tags where they are: `html`, `head` and `body` are put around the
 * rest.
 */
function parse(html: string): PageDocument {
  const content = html.replaceAll(/<!doctype[^>]{0,1000}>|<\/?(?:html|head|body)(?:\s[^>]{0,2000})?>/gi, '');
  const window = parseHTML(`<!doctype html><html><head></head><body>${content}</body></html>`);
  // Its types are those of a browser, which there are none of here.
  const { document } = window as unknown as { document: PageDocument };
  document.head.append(...document.querySelectorAll('title, meta, base'));
  return document;
}
