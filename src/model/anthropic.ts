// The transports to Anthropic's Messages API, streamed and not. The SDK gives address and headers of a call and reads refusals; the call
// itself is made here (decision 74). Retries belong to the turn's stored budget (G16) and deadlines to the caller's signal. What failed
// becomes a `ModelError` below.
import { hash } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import { APIError } from '@anthropic-ai/sdk';
import { createParser } from 'eventsource-parser';
import { request, type Dispatcher } from 'undici';
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import { asStreamEvent, eventsOfBody, StreamFault } from './stream/stream-event.ts';
import { orAborted } from '../deadline.ts';
import { createPool } from './connections.ts';
import { createModel } from './create-model.ts';
import { ModelError, type Model } from './model.ts';
import type { Transport, TransportCall } from './transport.ts';
import { toBatchParams, toWireRequest } from './wire-request.ts';
import { readRetryAfter } from '../network/retry-after.ts';
import type { Amounts, RateUnit } from '../core/rate-limit.ts';

export interface AnthropicOptions {
  apiKey: string;
  /** The provider's address; the SDK's own when absent. */
  baseUrl?: string;
  /** Headers of every call, from the configuration. */
  headers?: Record<string, string>;
  /** False: answers come as one body. Absent: they are streamed. */
  isStreaming?: boolean;
  /** Absent: Anthropic itself; else another provider with the same API, whose batches are not used. */
  provider?: string;
}

/** How long the end of a response may follow its complete answer before the connection is closed, in milliseconds. */
const AFTER_STOP_MS_MAX = 1000;

/** The largest number of bytes of an error's body that is read. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

/** For servers that compress without being asked. */
const DECODERS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress };

/** A model of Anthropic's Messages API, or of a compatible server at `baseUrl`. Cheap to make; holds a pool of connections. */
export function createAnthropicModel(options: AnthropicOptions): Model {
  return createModel({ transports: [createAnthropicTransport(options)] });
}

/** The transport to the Messages API. */
export function createAnthropicTransport({
  apiKey,
  baseUrl,
  headers,
  isStreaming = true,
  provider = DEFAULT_PROVIDER,
}: AnthropicOptions): Transport {
  const pool = createPool();
  const client = new Anthropic({
    apiKey,
    ...(baseUrl === undefined ? undefined : { baseURL: baseUrl }),
    ...(headers ? { defaultHeaders: headers } : undefined),
  });
  let envelope: Promise<Envelope> | null = null;
  return {
    name: isStreaming ? 'anthropic-stream' : 'anthropic-whole',
    provider,
    account: hash('sha256', `${client.baseURL} ${apiKey}`, 'hex').slice(0, 16),
    ...(provider === DEFAULT_PROVIDER ? { batchParams: (asked) => toBatchParams(asked) } : {}),
    async send(call) {
      try {
        const answer = await post(pool, await (envelope ??= toEnvelope(client)), call, isStreaming);
        await (isStreaming ? readEvents : readWhole)(answer, call);
      } catch (error) {
        throw toModelError(error);
      }
    },
  };
}

/** What the calls of a transport have in common. */
interface Envelope {
  url: string;
  headers: Record<string, string>;
}

async function toEnvelope(client: Anthropic): Promise<Envelope> {
  // The SDK would name a deadline that is not the call's.
  const headers = { 'content-type': 'application/json', 'x-stainless-timeout': null };
  const { req, url } = await client.buildRequest({ method: 'post', path: '/v1/messages', headers });
  return { url, headers: Object.fromEntries(new Headers(req.headers)) };
}

interface Answer {
  headers: Headers;
  bytes: Readable;
}

/** Sends the request and returns its answer; throws what is none. */
async function post(pool: Dispatcher, common: Envelope, call: TransportCall, isStreaming: boolean): Promise<Answer> {
  const { signal } = call;
  const body = Buffer.from(JSON.stringify(toWireRequest(call.request, { isStreaming })));
  call.onSent(body);
  const dispatcher = pool.compose(checkBeforeWrite(call.onWrite));
  const sent = { ...common.headers, ...call.headers };
  // By itself, `request` notices an abort only when the connection is made. It follows no redirects, so the key reaches one host only.
  const response = await orAborted(signal, () =>
    request(common.url, { method: 'POST', headers: sent, body, signal, dispatcher }),
  ).catch(networkError);
  const status = response.statusCode;
  const headers = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  const bytes = decoded(response.body, headers.get('content-encoding') ?? '');
  // The loops below get its errors. Without this listener, the error of an answer that is not read would end the process.
  bytes.on('error', () => undefined);
  call.onRemaining?.(readRemaining(headers));
  if (status < 200 || status >= 300) throw await toRefusal(status, { headers, bytes });
  const expected = isStreaming ? 'text/event-stream' : 'application/json';
  const actual = headers.get('content-type') ?? '';
  if (actual.startsWith(expected)) return { headers, bytes };
  bytes.destroy();
  throw malformedAnswer(`The answer is not ${expected} but "${actual}".`);
}

function decoded(body: Readable, encoding: string): Readable {
  if (!Object.hasOwn(DECODERS, encoding)) return body;
  return pipeline(body, DECODERS[encoding as keyof typeof DECODERS](), () => undefined);
}

/**
 * Reads to the end of the response, so that the next call can use the connection. After a complete answer it closes the connection when
 * the provider does not end it.
 */
async function readEvents({ headers, bytes }: Answer, call: TransportCall): Promise<void> {
  let isComplete = false;
  const parser = createParser({
    onEvent({ event, data }) {
      if (isComplete || event === 'ping' || data === '') return;
      if (event === 'error') throw new APIError(undefined, parsed(data) ?? data, undefined, headers);
      isComplete = call.onEvent(asStreamEvent(JSON.parse(data)));
    },
  });
  const decoder = new TextDecoder();
  let timer: NodeJS.Timeout | undefined;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      if (isComplete) continue;
      call.onBytes(chunk.length);
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (isComplete) timer = setTimeout(() => bytes.destroy(), AFTER_STOP_MS_MAX);
    }
  } catch (error) {
    // What happens to the connection of a complete answer does not matter.
    if (!isComplete) throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function readWhole({ bytes }: Answer, call: TransportCall): Promise<void> {
  const text = await toText(bytes, (count) => {
    call.onBytes(count);
    return true;
  });
  eventsOfBody(JSON.parse(text)).some(call.onEvent);
}

/** The SDK's reading of a refusal, of whose body only the beginning is read (G28). */
async function toRefusal(status: number, { headers, bytes }: Answer): Promise<APIError> {
  let rest = ERROR_BODY_BYTES_MAX;
  const text = await toText(bytes, (count) => (rest -= count) > 0).catch(({ message }: Error) => message);
  const body = parsed(text);
  return APIError.generate(status, body, body === undefined ? text : undefined, headers);
}

/** The text of a body, up to the chunk after which `goesOn` is false. */
async function toText(bytes: Readable, goesOn: (count: number) => boolean): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (!goesOn(chunk.length)) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function parsed(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

// What a call throws, as a `ModelError`: refusals with their status and code, faults of the network, and answers that were cut or made
// no sense.

/** The error of a call. Errors that are already in their final form stay as they are. */
export function toModelError(error: unknown): unknown {
  if (error instanceof ModelError || error instanceof StreamFault) return error;
  if (error instanceof APIError) return refusal(error);
  if (error instanceof SyntaxError) return malformedAnswer('The answer is not JSON.', error);
  // The request was answered: the body did not arrive.
  return new ModelError({
    type: 'cut_stream',
    status: null,
    retryAfterMs: null,
    message: `The connection closed before the answer was complete: ${toMessage(error)}`,
    cause: error,
  });
}

/** The answer breaks the rules of its format. */
export function malformedAnswer(message: string, cause?: unknown): ModelError {
  return new ModelError({ type: 'malformed_stream', status: null, retryAfterMs: null, message, cause });
}

/** The request was not answered. */
export function networkError(cause: unknown): never {
  const message = `Connection error: ${toMessage(cause)}`;
  throw new ModelError({ type: 'network', status: null, retryAfterMs: null, message, cause });
}

/** An error that the provider sends instead of an answer, or inside one; the latter has no status. */
function refusal(error: APIError): ModelError {
  const { status, headers } = error;
  return new ModelError({
    type: error.type ?? (status === undefined ? 'api_error' : 'unknown_error'),
    status: status ?? null,
    retryAfterMs: status === undefined || headers === undefined ? null : readRetryAfter(headers, Date.now()),
    message: error.apiMessage ?? error.message,
    errorCode: error.errorCode,
    requestId: error.requestID ?? null,
    cause: error,
  });
}

function toMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Attempts at several addresses fail with an error that has a code and no message.
  return error.message || ('code' in error ? String(error.code) : error.name);
}

// The last point at which a request can be held back.

/**
 * An interceptor that calls `check` when a request is about to be written on a connected socket, and gives the request up with what `check`
 * throws. A check before the call comes too early (G7): between it and the first byte lie the queue of the pool and the making of a
 * connection, with waits in which a process can be paused past its lease. Between this check and the write of head and body to the socket
 * there is no wait for anything outside of the process. A pause in just that instant, of about 0.1 ms, cannot be noticed from here.
 */
export function checkBeforeWrite(check: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        try {
          check();
        } catch (error) {
          controller.abort(error instanceof Error ? error : new Error(String(error)));
          return;
        }
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
}

// Reads from the headers of an answer what is left of the provider's rate limits.

const HEADERS: readonly (readonly [RateUnit, string])[] = [
  ['requests', 'anthropic-ratelimit-requests-remaining'],
  ['inputTokens', 'anthropic-ratelimit-input-tokens-remaining'],
  ['outputTokens', 'anthropic-ratelimit-output-tokens-remaining'],
];

/** What is left of each limit that the headers name. Values that are not whole numbers are ignored. */
export function readRemaining(headers: { get(name: string): string | null }): Amounts {
  return Object.fromEntries(
    HEADERS.flatMap(([unit, name]) => {
      const text = headers.get(name);
      return text !== null && /^\d{1,15}$/.test(text) ? [[unit, Number(text)]] : [];
    }),
  );
}
