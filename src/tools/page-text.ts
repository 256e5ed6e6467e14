// The text of an answer of the web: decoded by the rules of the WHATWG (UTF-8 where nothing names
// an encoding), and without what surrounds it.
import type { WebAnswer } from './web-fetch-request.ts';
import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { orAborted, withDeadline } from '../clock.ts';
import { Gate } from '../gate.ts';
import type { PageExtraction, ReadPage } from './extract-page-thread.ts';

/**
 * Beginnings that have the encoding in themselves: byte order marks, and an XML declaration in
 * UTF-16. They come before every name.
 */
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

// Extracts the content of a web page in a worker thread, bounded in time, memory and number: see
// extract-page-thread.ts.

/** A page is too large or too strange to be read. */
export class PageUnreadableError extends Error {
  readonly code = 'page_unreadable';
  constructor(reason: string, cause?: unknown) {
    super(`the page cannot be read: ${reason}`, { cause });
    this.name = 'PageUnreadableError';
  }
}

const THREADS_MAX = 2;
const WAITING_MAX = 50;
const HEAP_MB_MAX = 256;
const READ_MS_MAX = 10_000;

const gate = new Gate(THREADS_MAX);

/** The title and the content of a page. Throws `PageUnreadableError`, or the signal's reason. */
export async function extractPage(page: PageExtraction, signal: AbortSignal): Promise<ReadPage> {
  if (gate.waitingCount >= WAITING_MAX) throw new PageUnreadableError('too many pages are being read');
  return await gate.run(() => read(page, signal), signal);
}

async function read(page: PageExtraction, signal: AbortSignal): Promise<ReadPage> {
  signal.throwIfAborted();
  const thread = new Worker(new URL(`./extract-page-thread${extname(import.meta.url)}`, import.meta.url), {
    workerData: page,
    // Nothing of this process is any of its business.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    stdout: true,
    stderr: true,
  });
  const posted = once(thread, 'message') as Promise<[ReadPage]>;
  const ended = once(thread, 'exit').then(() => {
    throw new Error('its reader process ended without an answer');
  });
  const late = (): Error => new Error(`it takes longer than ${READ_MS_MAX / 1000} s`);
  try {
    const answer = () => Promise.race([posted, ended]);
    const [found] = await orAborted(signal, () => withDeadline({ ms: READ_MS_MAX, late }, answer));
    return found;
  } catch (error) {
    signal.throwIfAborted();
    throw new PageUnreadableError((error as Error).message, error);
  } finally {
    await thread.terminate();
  }
}
