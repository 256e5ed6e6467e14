// One request to a provider and its answer as a stream of bytes, for all transports over HTTP: it
// is sent on a pool of connections, its lease is checked at the last point, and no more of a
// refusal is read than needed.
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { request, type Dispatcher } from 'undici';
import { orAborted } from '../clock.ts';
import { WRONG_ADDRESS } from '../core/failure.ts';
import { unpackBody } from '../network/unpack-body.ts';
import { ModelError } from './model.ts';
import { explainStranger, explainUnreached, findDoubt } from './rules/address.ts';
import type { TransportCall } from './transport.ts';

/** The largest number of bytes of an error's body that is read. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

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

/**
 * Sends a request and returns the answer of the provider, a refusal too. Throws `ModelError` of the
 * type `network` when nothing answers, of the type `wrong_address` when something else does.
 */
export async function post(
  pool: Dispatcher,
  { url, method = 'POST', headers: sent, body }: OutgoingRequest,
  { signal, onWrite }: Pick<TransportCall, 'signal' | 'onWrite'>,
): Promise<ProviderReply> {
  const dispatcher = pool.compose(checkBeforeWrite(onWrite));
  // By itself, `request` notices an abort only when the connection is made. It follows no
  // redirects, so the key reaches one host only.
  const response = await orAborted(signal, () =>
    request(url, { method, headers: sent, body: body ?? null, signal, dispatcher }),
  ).catch((error: unknown) => networkError(url, error));
  const headers = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
  // Some servers compress without being asked.
  const bytes = unpackBody(response.body, headers.get('content-encoding') ?? '') ?? response.body;
  // Its readers get its errors. Without this listener, the error of an answer that is not read
  // would end the process.
  bytes.on('error', () => undefined);
  const { statusCode: status } = response;
  const head = { status, contentType: headers.get('content-type') ?? '' };
  const doubt = findDoubt(head);
  const read = doubt === 'body' ? await readRefusal(bytes) : null;
  const message = explainStranger(url, head, read ?? (doubt === null ? '' : await peek(bytes)));
  if (message === null) return { status, headers, bytes: read === null ? bytes : Readable.from([Buffer.from(read)]) };
  bytes.destroy();
  throw new ModelError({ type: WRONG_ADDRESS, status, retryAfterMs: null, message });
}

/** The beginning of the body of a refusal (G28), or why it cannot be read. */
export async function readRefusal(bytes: Readable): Promise<string> {
  let rest = ERROR_BODY_BYTES_MAX;
  return await toText(bytes, (count) => (rest -= count) > 0).catch(({ message }: Error) => message);
}

/** The first bytes of a body, which stay in it; nothing of one that breaks, which its reader notices. */
async function peek(bytes: Readable): Promise<string> {
  try {
    await once(bytes, 'readable');
  } catch {
    return '';
  }
  // At once: after the end, nothing can be put back.
  const first = bytes.read() as Buffer | null;
  if (first !== null) bytes.unshift(first);
  return first?.toString() ?? '';
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

/**
 * How long the end of a response may follow its complete answer before the connection is closed, in
 * milliseconds.
 */
const AFTER_ANSWER_MS_MAX = 1000;

/** What takes the events of an answer. */
interface EventReader {
  onBytes: (count: number) => void;
  /** True once the answer is complete: what follows is not read, and does not matter. */
  isComplete: () => boolean;
}

/**
 * The events of an answer, each as it comes. A body of JSON, or of lines of JSON, is read as such
 * events, too; one value is followed by `[DONE]`. Reads to the end of the response, so that the
 * next call can use the connection, and closes it when the server does not end a complete answer.
 * Throws what breaks the connection before that.
 */
export async function* readEvents(
  bytes: Readable,
  { onBytes, isComplete }: EventReader,
): AsyncGenerator<Pick<EventSourceMessage, 'event' | 'data'>> {
  const read: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void read.push(event) });
  const decoder = new TextDecoder();
  /**
   * The pieces of a body that is no stream of events; null: it is one, or that is not known yet.
   */
  let body: string[] | null = null;
  let hasBegun = false;
  let timer: NodeJS.Timeout | undefined;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      if (isComplete()) continue;
      onBytes(chunk.length);
      const text = decoder.decode(chunk, { stream: true });
      if (!hasBegun && /^\s*[{[]/.test(text)) body = [];
      hasBegun ||= text.trim() !== '';
      if (body === null) parser.feed(text);
      else body.push(text);
      yield* read.splice(0);
      if (isComplete()) timer ??= setTimeout(() => bytes.destroy(), AFTER_ANSWER_MS_MAX);
    }
    if (isComplete()) return;
    const rest = decoder.decode();
    if (body !== null) return yield* eventsOfText([...body, rest].join(''));
    // The blank line after the last event is missing, or the event is cut.
    parser.feed(`${rest}\n\n`);
    yield* read.filter(({ data }) => data === '[DONE]' || isJson(data));
  } catch (error) {
    // What happens to the connection of a complete answer does not matter.
    if (!isComplete()) throw error;
  } finally {
    clearTimeout(timer);
  }
}

function eventsOfText(text: string): { data: string }[] {
  if (isJson(text)) return [{ data: text }, { data: '[DONE]' }];
  return text.split('\n').flatMap((data) => (isJson(data) ? [{ data }] : []));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
function networkError(url: string, cause: unknown): never {
  const message = explainUnreached(url, toMessage(cause));
  throw new ModelError({ type: 'network', status: null, retryAfterMs: null, message, cause });
}

function toMessage(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Attempts at several addresses fail with an error that has a code and no message.
  const code = 'code' in error ? String(error.code) : '';
  if (error.message === '') return code || error.name;
  return error.message.includes(code) ? error.message : `${error.message} (${code})`;
}

// The last point at which a request can be held back.

/**
 * An interceptor that calls `check` when a request is about to be written on a connected socket,
 * and gives the request up with what `check` throws. A check before the call comes too early (G7):
 * between it and the first byte lie the queue of the pool and the making of a connection, with
 * waits in which a process can be paused past its lease. Between this check and the write of head
 * and body to the socket there is no wait for anything outside of the process. A pause in just that
 * instant, of about 0.1 ms, cannot be noticed from here.
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
