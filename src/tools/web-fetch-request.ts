// The request of `web_fetch`: one GET that reaches the public internet only (G30), see
// network/guarded-request.ts; a redirect is a new request that is judged like the first. Size,
// redirects and time are bounded (G28); compressed bodies by what they unpack to.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { cutHead } from '../core/text.ts';
import { AddressRefusedError, isHostListed, sendGuarded } from '../network/guarded-request.ts';
import { isPublicAddress } from '../network/public-address.ts';
import { unpackBody } from '../network/unpack-body.ts';

export interface WebRequest {
  url: string;
  /** The most of the body that is read, unpacked. */
  bytesMax: number;
  /**
   * Hosts that may have addresses that are not public: `wiki.lan`, or of one port only
   * `wiki.lan:8080`.
   */
  allowPrivate: readonly string[];
  /** Absent: nothing is traced. */
  traceparent?: string | undefined;
  signal: AbortSignal;
}

export interface WebAnswer {
  /** Where it came from in the end. */
  url: string;
  status: number;
  /**
   * The type that the server says, in lower case and without parameters; null when it says none.
   */
  contentType: string | null;
  charset: string | null;
  body: Buffer;
  /** True when the body was longer than the part that was read. */
  isCut: boolean;
}

/** Why there is no answer, in words for a model. */
export class WebFetchError extends Error {
  readonly code = 'web_fetch_failed';
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'WebFetchError';
  }
}

const REDIRECTS_MAX = 5;
const REDIRECT_STATUSES: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308]);
const HEADERS = {
  accept:
    'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1',
  'accept-encoding': 'gzip, deflate, br',
  'accept-language': 'en, *;q=0.5',
  'user-agent': 'Mozilla/5.0 (compatible; Holdfast)',
};

/** Fetches a page. Throws `WebFetchError`, or the signal's reason. */
export async function fetchWeb(request: WebRequest): Promise<WebAnswer> {
  let url = checkedUrl(request.url);
  for (let hop = 0; hop <= REDIRECTS_MAX; hop += 1) {
    request.signal.throwIfAborted();
    const response = await open(url, request);
    const { location } = response.headers;
    if (!REDIRECT_STATUSES.has(response.statusCode) || location === undefined)
      return await read(url, response, request);
    response.destroy();
    if (!URL.canParse(location, url.href))
      throw new WebFetchError(`${url.host} redirects to ${quoted(location)}, which is not a URL`);
    url = checkedUrl(new URL(location, url.href).href);
  }
  throw new WebFetchError(`${quoted(request.url)} redirects more than ${REDIRECTS_MAX} times`);
}

function checkedUrl(text: string): URL {
  if (!URL.canParse(text)) throw new WebFetchError(`${quoted(text)} is not a URL`);
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new WebFetchError(`${quoted(text)} cannot be fetched: only http and https can`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new WebFetchError(`a URL with a user or password in it is not fetched (${url.host})`);
  }
  return url;
}

async function open(url: URL, { allowPrivate, traceparent, signal }: WebRequest): Promise<IncomingMessage> {
  const isAllowed = isHostListed(url, allowPrivate);
  const mayReach = isAllowed ? () => true : isPublicAddress;
  try {
    const headers = traceparent === undefined ? HEADERS : { ...HEADERS, traceparent };
    return await sendGuarded({ url, method: 'GET', headers, mayReach, signal });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AddressRefusedError) throw new WebFetchError(`${error.message}, and only that is fetched`);
    throw new WebFetchError(`${url.host} cannot be reached: ${(error as Error).message}`, error);
  }
}

async function read(url: URL, response: IncomingMessage, { bytesMax, signal }: WebRequest): Promise<WebAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of unpacked(response) as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, bytesMax - bytes));
      bytes += chunk.length;
      if (bytes > bytesMax) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof WebFetchError) throw error;
    throw new WebFetchError(`${url.host} stopped in the middle of its answer: ${(error as Error).message}`, error);
  } finally {
    response.destroy();
  }
  const [type, ...parameters] = (response.headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    contentType: type === undefined || type === '' ? null : type,
    charset: charset?.replace(/^"|"$/g, '') ?? null,
    body: Buffer.concat(chunks),
    isCut: bytes > bytesMax,
  };
}

function unpacked(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding'];
  const body = unpackBody(response, encoding);
  if (body !== null) return body;
  throw new WebFetchError(`the answer has the encoding ${quoted(encoding ?? '')}, which was not requested`);
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? `${cutHead(text, 200)}…` : text);
}
