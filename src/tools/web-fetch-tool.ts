// The `web_fetch` tool: the readable content of a page of the public internet. Its result is
// untrusted: it is put between two marks that the page cannot know, and imitations of Holdfast's
// markup in it are neutralised (G29).
import { z } from 'zod';
import { count } from '../config/schema-scalars.ts';
import { cutHead } from '../core/text.ts';
import { decodePage, extractPage, PageUnreadableError } from './page-text.ts';
import { defineTool } from './define-tool.ts';
import type { ReadPage } from './extract-page-thread.ts';
import { errorOutcome, type Tool, type ToolOutcome, textOutcome } from './tool.ts';
import { markOf, untrusted, UNTRUSTED_CHARS_MAX as CHARS_MAX } from './untrusted-result.ts';
import { fetchWeb, WebFetchError, type WebAnswer } from './web-fetch-request.ts';

export interface WebFetchOptions {
  timeoutSeconds: number;
  /** The most of a page that is read, in bytes. */
  maxBytes: number;
  /** Hosts that may be fetched although their addresses are not public. */
  allowPrivate: readonly string[];
}

const CHARS_DEFAULT = 20_000;
/** How much of the body of a refusal is shown. */
const REFUSAL_CHARS_MAX = 1000;
const TITLE_CHARS_MAX = 300;
const URL_CHARS_MAX = 500;
const HTML_TYPES: ReadonlySet<string> = new Set(['text/html', 'application/xhtml+xml']);
const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:.*\+)?(?:json|xml|yaml|toml)|application\/(?:x-)?(?:javascript|yaml|ndjson|sh|sql|tex)|image\/svg\+xml)$/;

export function createWebFetchTool({ timeoutSeconds, maxBytes, allowPrivate }: WebFetchOptions): Tool {
  return defineTool({
    name: 'web_fetch',
    description: `Fetch a URL (http or https, on the public internet) and get its readable content. Takes at most ${timeoutSeconds} s.`,
    summary: 'Fetch and extract readable content from a URL',
    input: z.strictObject({
      url: z.string().min(1).max(4096),
      extractMode: z.enum(['markdown', 'text']).optional().describe('Default markdown'),
      maxChars: count(100, 1_000_000)
        .optional()
        .describe(`Characters of the content at most; default ${CHARS_DEFAULT}, never more than ${CHARS_MAX}`),
    }),
    // A GET may be sent twice; it cannot be promised that the first has no effect.
    isIdempotent: true,
    isReadOnly: false,
    timeoutMs: timeoutSeconds * 1000,
    async run({ url, extractMode: mode = 'markdown', maxChars = CHARS_DEFAULT }, call) {
      const charsMax = Math.min(maxChars, CHARS_MAX);
      const mark = markOf(call);
      try {
        const answer = await fetchWeb({
          url,
          bytesMax: maxBytes,
          allowPrivate,
          traceparent: call.traceparent,
          signal: call.signal,
        });
        if (answer.status < 200 || answer.status > 299) return refusal(answer, mark);
        const page = await readContent(answer, mode, call.signal);
        return textOutcome(describe(answer, page, { charsMax, mark }));
      } catch (error) {
        call.signal.throwIfAborted();
        if (!(error instanceof WebFetchError || error instanceof PageUnreadableError)) throw error;
        return errorOutcome(`web_fetch: url: ${error.message}`);
      }
    },
  });
}

async function readContent(answer: WebAnswer, mode: 'markdown' | 'text', signal: AbortSignal): Promise<ReadPage> {
  const text = decodePage(answer);
  const type = answer.contentType ?? sniffed(text);
  if (HTML_TYPES.has(type)) return await extractPage({ html: text, url: answer.url, mode }, signal);
  if (!TEXT_TYPE.test(type) || text.includes('\0')) {
    throw new WebFetchError(`it answers with ${JSON.stringify(cutHead(type, 100))}, which is not text`);
  }
  return { title: '', text };
}

function sniffed(text: string): string {
  if (text.includes('\0')) return 'application/octet-stream';
  return /^\s*</.test(text) ? 'text/html' : 'text/plain';
}

function describe(
  answer: WebAnswer,
  { title, text }: ReadPage,
  { charsMax, mark }: { charsMax: number; mark: string },
): string {
  const shown = cutHead(text, charsMax);
  const notes = [
    ...(shown.length < text.length ? [`the first ${shown.length} of ${text.length} characters`] : []),
    ...(answer.isCut ? [`the page is longer than the ${answer.body.length} bytes that were read`] : []),
  ];
  const heading = title === '' ? [] : [`Title: ${cutHead(title, TITLE_CHARS_MAX)}`, ''];
  return [
    formatPlace(answer),
    ...(notes.length > 0 ? [`[${notes.join('; ')}]`] : []),
    untrusted('Web content', [...heading, shown.trim() || '(no text)'].join('\n'), mark),
  ].join('\n');
}

/** Facts from the server are included here only in forms that cannot be mistaken for other text. */
function formatPlace({ url, status, contentType }: WebAnswer): string {
  const type = contentType !== null && /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(contentType) ? `, ${contentType}` : '';
  return `${cutHead(url, URL_CHARS_MAX)} (${status}${type})`;
}

function refusal(answer: WebAnswer, mark: string): ToolOutcome {
  const said = `web_fetch: url: the answer is ${formatPlace(answer)}`;
  const isText = TEXT_TYPE.test(answer.contentType ?? '') && !HTML_TYPES.has(answer.contentType ?? '');
  const body = isText ? cutHead(decodePage(answer), REFUSAL_CHARS_MAX).trim() : '';
  return errorOutcome(body === '' ? said : `${said}\n${untrusted('Web content', body, mark)}`);
}
