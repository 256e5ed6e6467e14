// One call of the API: the request with its headers, its deadline, and its attempts.
import type { CallOptions, ClientOptions, LineBody } from './call-options.ts';
import { connectionError, foreignAnswerError, HoldfastError, parseRefusal, deadlineError } from './holdfast-error.ts';
import { pause, retryDelayMs } from './retry.ts';

const TIMEOUT_MS = 30_000;
const RETRIES_MAX = 3;

/** What the body of a 2xx answer is; lines are given as an open stream. */
export type AnswerForm = 'json' | 'text' | 'lines';

/** A request with its place filled in. */
export interface ApiCall {
  method: string;
  /** With its query. */
  path: string;
  answer: AnswerForm;
  /** Sent as JSON, or as lines; undefined: none. */
  body?: unknown;
}

export interface ClientTransport {
  /**
   * The body of a 2xx answer: parsed JSON, a text, an open stream of lines, or undefined. Throws
   * `HoldfastError`.
   */
  call(request: ApiCall, options?: CallOptions): Promise<unknown>;
  /**
   * The open answer to a GET, sent once; `signal` aborts it also while its body is read. Throws
   * `HoldfastError` for anything but a 2xx.
   */
  open(path: string, options: { headers: Record<string, string>; signal: AbortSignal }): Promise<Response>;
}

/** The way to one service. */
export function createTransport(client: ClientOptions): ClientTransport {
  const service: Service = {
    base: client.url.replace(/\/+$/, ''),
    // Called without an object: browsers refuse `fetch` as the method of another one.
    send: client.fetch ?? globalThis.fetch,
    parse: client.parse ?? ((text) => JSON.parse(text)),
  };
  const timeoutMs = client.timeoutMs ?? TIMEOUT_MS;
  return {
    async call(request, options = {}) {
      const ms = (options.timeoutMs ?? timeoutMs) + (options.waitSeconds ?? 0) * 1000;
      const deadline = startDeadline(formatService(service), ms, options.signal);
      const headers = buildHeaders(client, request, options);
      const retriesMax = isRepeatable(request) ? (client.retriesMax ?? RETRIES_MAX) : 0;
      try {
        for (let n = 1; ; n += 1) {
          try {
            const response = await sendOnce(service, request, headers, deadline);
            return await readAnswer(service, response, request.answer, deadline);
          } catch (error) {
            const mayRepeat = n <= retriesMax && error instanceof HoldfastError;
            const delayMs = mayRepeat ? retryDelayMs(error, n, Math.random()) : null;
            if (delayMs === null || delayMs >= deadline.leftMs()) throw error;
            await pause(delayMs, deadline.signal);
          }
        }
      } finally {
        deadline.clear();
      }
    },
    async open(path, { headers, signal }) {
      const deadline = startDeadline(formatService(service), timeoutMs, signal);
      const request: ApiCall = { method: 'GET', path, answer: 'lines' };
      try {
        return await sendOnce(service, request, buildHeaders(client, request, { headers }), deadline);
      } finally {
        deadline.clear();
      }
    },
  };
}

interface Service {
  /** What every path is appended to. */
  base: string;
  send: typeof globalThis.fetch;
  parse: (text: string) => unknown;
}

/** For messages. */
function formatService({ base }: Service): string {
  return base === '' ? 'the service of this page' : base;
}

/** The 2xx answer to one attempt. Throws for any other. */
async function sendOnce(
  service: Service,
  request: ApiCall,
  headers: Headers,
  deadline: CallDeadline,
): Promise<Response> {
  const init: RequestInit & { duplex?: 'half' } = {
    method: request.method,
    headers,
    signal: deadline.signal,
    // The key must not follow a redirect to another host.
    redirect: 'error',
  };
  if (request.body !== undefined) {
    init.body = isLines(request.body) ? request.body : JSON.stringify(request.body);
    if (isStream(request.body)) init.duplex = 'half';
  }
  const { send } = service;
  let response: Response;
  try {
    response = await send(service.base + request.path, init);
  } catch (error) {
    throw deadline.reasonOr(connectionError(formatService(service), error));
  }
  if (response.ok) return response;
  throw parseRefusal(response, await readText(service, response, deadline));
}

async function readAnswer(
  service: Service,
  response: Response,
  form: AnswerForm,
  deadline: CallDeadline,
): Promise<unknown> {
  if (response.status === 204) return undefined;
  if (form === 'lines') return response.body;
  const text = await readText(service, response, deadline);
  if (form === 'text') return text;
  try {
    return service.parse(text);
  } catch (error) {
    throw foreignAnswerError(formatService(service), response.status, error);
  }
}

async function readText(service: Service, response: Response, deadline: CallDeadline): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw deadline.reasonOr(connectionError(formatService(service), error));
  }
}

function buildHeaders(client: ClientOptions, { method, body }: ApiCall, options: CallOptions): Headers {
  const headers = new Headers({ ...client.headers, ...options.headers });
  const setDefault = (name: string, value: string): void => {
    if (!headers.has(name)) headers.set(name, value);
  };
  if (client.key !== undefined) headers.set('authorization', `Bearer ${client.key}`);
  // With a cookie, the service wants a header that no other site can send.
  else if (method !== 'GET') headers.set('x-holdfast-request', '1');
  if (body !== undefined) setDefault('content-type', isLines(body) ? 'application/x-ndjson' : 'application/json');
  if ((options.waitSeconds ?? 0) > 0) headers.set('prefer', `wait=${options.waitSeconds}`);
  if (options.idempotencyKey !== undefined) headers.set('idempotency-key', options.idempotencyKey);
  else if (method === 'POST') setDefault('idempotency-key', newKey());
  return headers;
}

/**
 * A GET changes nothing, and a POST has its effect once per idempotency key, which it keeps over
 * its attempts.
 */
function isRepeatable({ method, body }: ApiCall): boolean {
  return (method === 'GET' || method === 'POST') && !isStream(body);
}

function isStream(body: unknown): boolean {
  return body instanceof ReadableStream;
}

function isLines(body: unknown): body is LineBody {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof Blob || isStream(body);
}

/**
 * 128 random bits. `crypto.randomUUID` would be shorter, but browsers have it only on pages that
 * came over TLS or from this machine.
 */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The time of a call. Cleared, it aborts nothing more; the signal of the caller still does. */
interface CallDeadline {
  /** Aborts at the deadline, and with the caller's signal. */
  signal: AbortSignal;
  leftMs(): number;
  /** Why the call was aborted, if it was; else this error. */
  reasonOr(error: HoldfastError): unknown;
  clear(): void;
}

/** Starts the time of a call to a service. */
function startDeadline(url: string, timeoutMs: number, signal: AbortSignal | undefined): CallDeadline {
  const time = new AbortController();
  const endsAt = performance.now() + timeoutMs;
  const timer = setTimeout(() => time.abort(deadlineError(url, timeoutMs)), timeoutMs);
  const either = signal === undefined ? time.signal : AbortSignal.any([time.signal, signal]);
  return {
    signal: either,
    leftMs: () => endsAt - performance.now(),
    reasonOr: (error) => (either.aborted ? either.reason : error),
    clear: () => clearTimeout(timer),
  };
}
