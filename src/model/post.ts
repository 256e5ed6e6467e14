// One request to a provider and its answer as a stream of bytes, for all transports over HTTP: it is sent on a pool of connections, its lease is
// checked at the last point, and no more of a refusal is read than needed.
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { request, type Dispatcher } from 'undici';
import { orAborted } from '../deadline.ts';
import { ModelError } from './model.ts';
import type { TransportCall } from './transport.ts';

/** The largest number of bytes of an error's body that is read. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

/** For servers that compress without being asked. */
const DECODERS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress };

export interface OutgoingRequest {
  url: string;
  /** Absent: POST. */
  method?: Dispatcher.HttpMethod;
  headers: Record<string, string>;
  /** Absent: none. */
  body?: string | Uint8Array;
}

export interface ProviderReply {
  status: number;
  headers: Headers;
  bytes: Readable;
}

/** Sends a request and returns what answers it, a refusal too. Throws `ModelError` of the type `network` when nothing does. */
export async function post(
  pool: Dispatcher,
  { url, method = 'POST', headers: sent, body }: OutgoingRequest,
  { signal, onWrite }: Pick<TransportCall, 'signal' | 'onWrite'>,
): Promise<ProviderReply> {
  const dispatcher = pool.compose(checkBeforeWrite(onWrite));
  // By itself, `request` notices an abort only when the connection is made. It follows no redirects, so the key reaches one host only.
  const response = await orAborted(signal, () =>
    request(url, { method, headers: sent, body: body ?? null, signal, dispatcher }),
  ).catch(networkError);
  const headers = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  const bytes = decoded(response.body, headers.get('content-encoding') ?? '');
  // Its readers get its errors. Without this listener, the error of an answer that is not read would end the process.
  bytes.on('error', () => undefined);
  return { status: response.statusCode, headers, bytes };
}

function decoded(body: Readable, encoding: string): Readable {
  if (!Object.hasOwn(DECODERS, encoding)) return body;
  return pipeline(body, DECODERS[encoding as keyof typeof DECODERS](), () => undefined);
}

/** The beginning of the body of a refusal (G28), or why it cannot be read. */
export async function readRefusal(bytes: Readable): Promise<string> {
  let rest = ERROR_BODY_BYTES_MAX;
  return await toText(bytes, (count) => (rest -= count) > 0).catch(({ message }: Error) => message);
}

/** The text of a body, up to the chunk after which `goesOn` is false. */
export async function toText(bytes: Readable, goesOn: (count: number) => boolean): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    if (!goesOn(chunk.length)) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** The answer breaks the rules of its format. */
export function malformedAnswer(message: string, cause?: unknown): ModelError {
  return new ModelError({ type: 'malformed_stream', status: null, retryAfterMs: null, message, cause });
}

/** The request was answered, but the body did not arrive. */
export function cutAnswer(cause: unknown): ModelError {
  const message = `The connection closed before the answer was complete: ${toMessage(cause)}`;
  return new ModelError({ type: 'cut_stream', status: null, retryAfterMs: null, message, cause });
}

/** The request was not answered. */
function networkError(cause: unknown): never {
  const message = `Connection error: ${toMessage(cause)}`;
  throw new ModelError({ type: 'network', status: null, retryAfterMs: null, message, cause });
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
function checkBeforeWrite(check: () => void): Dispatcher.DispatcherComposeInterceptor {
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
