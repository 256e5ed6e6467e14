// An MCP server over HTTP. What it sends is bounded like a message of a server that is a process,
// so that none fills the memory of a worker (G28), and a request whose answer does not come ends.
// An answer is read whatever status, type or form it has.
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/client';
import { MessageReader } from './message-reader.ts';
import { MESSAGE_BYTES_MAX } from './stdio-transport.ts';

/** The `data` of the error of a request whose stream of events has ended without its answer. */
export const STREAM_ENDED = 'holdfast/stream-ended';

export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #reader: MessageReader;

  constructor(url: URL, options: Pick<StreamableHTTPClientTransportOptions, 'requestInit' | 'authProvider'>) {
    const reader = new MessageReader();
    super(url, { ...options, fetch: createReadingFetch(createBoundedFetch(), reader) });
    this.#reader = reader;
  }

  /**
   * The library would wait for an answer whose stream has ended. After an answer, it takes no
   * notice of another one.
   */
  override async send(
    message: JSONRPCMessage,
    options?: Parameters<StreamableHTTPClientTransport['send']>[1],
  ): Promise<void> {
    const onEnd = (): void => {
      if (!isJSONRPCRequest(message)) return;
      const reason = 'the connection was closed before the answer, or the answer was too large';
      const error = { code: ProtocolErrorCode.InternalError, message: reason, data: STREAM_ENDED };
      this.onmessage?.({ jsonrpc: '2.0', id: message.id, error });
    };
    this.#reader.note(message);
    await super.send(message, { onRequestStreamEnd: onEnd, ...options });
  }
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** With these, the request has not come to the server, or a login is needed. */
const NO_ANSWERS: readonly number[] = [401, 403, 404, 413, 429];
/** How a server answers these is part of how the version of the protocol is found. */
const OF_OPENING: readonly string[] = ['initialize', 'server/discover'];

function createReadingFetch(send: Fetch, reader: MessageReader): Fetch {
  return async (url, init) => {
    const response = await send(url, init);
    const { body, ok, status, headers } = response;
    if (body === null) return response;
    const request = requestOf(init);
    if (ok && isEventStream(headers)) return new Response(mendEvents(body, reader, request), response);
    if (request === undefined || NO_ANSWERS.includes(status)) return response;
    if (!ok && OF_OPENING.includes(request.method)) return response;
    const text = await response.text();
    // A page of a gateway without the id of the request is no answer.
    const messages = tryToRead(reader, text, ok ? request : undefined);
    if (messages?.some((message) => isJSONRPCResponse(message) && message.id === request.id) === true)
      return Response.json(messages, { headers: [...headers].filter(([name]) => !name.startsWith('content-')) });
    // The library would wait for another one.
    if (ok && messages !== null && status !== 202) throw new Error('the answer is not one to this request');
    return new Response(text, response);
  };
}

function requestOf({ method, body }: RequestInit = {}): { id: string | number; method: string } | undefined {
  if (method !== 'POST' || typeof body !== 'string' || !body.startsWith('{')) return undefined;
  const message: unknown = JSON.parse(body);
  return isJSONRPCRequest(message) ? message : undefined;
}

/** Null: the text is not JSON. */
function tryToRead(reader: MessageReader, text: string, request: { id: string | number } | undefined) {
  try {
    return reader.read(text, request);
  } catch {
    return null;
  }
}

function isEventStream(headers: Headers): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') === true;
}

function mendEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  reader: MessageReader,
  request: { id: string | number } | undefined,
): ReadableStream<Uint8Array> {
  let feed: (chunk: string) => void;
  const mend = new TransformStream<string, string>({
    start(controller) {
      const parser = createParser({
        onRetry: (ms) => controller.enqueue(`retry: ${ms}\n\n`),
        onEvent: (event) => controller.enqueue(mendEvent(event, reader, request)),
      });
      feed = (chunk) => parser.feed(chunk);
    },
    transform: (chunk) => feed(chunk),
  });
  return body.pipeThrough(new TextDecoderStream()).pipeThrough(mend).pipeThrough(new TextEncoderStream());
}

function mendEvent(
  { id, event = 'message', data }: EventSourceMessage,
  reader: MessageReader,
  request: { id: string | number } | undefined,
): string {
  const messages = event === 'message' ? tryToRead(reader, data, request) : null;
  const texts = messages === null ? [data] : messages.map((message) => JSON.stringify(message));
  const head = `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}`;
  // The id of an event counts also when nothing is left of it.
  return (texts.length === 0 ? [''] : texts)
    .map(
      (text) =>
        `${head}${text
          .split('\n')
          .map((line) => `data: ${line}\n`)
          .join('')}\n`,
    )
    .join('');
}

const TOO_LARGE = `the answer is too large: more than ${MESSAGE_BYTES_MAX / 1024 / 1024} MiB`;

/** In a stream of events each event is bounded, because a stream of changes has no end. */
function createBoundedFetch(): Fetch {
  let wasTooLarge = false;
  return async (url, init) => {
    // The library resumes a stream that has broken, and would get the same event again and again.
    if (wasTooLarge && new Headers(init?.headers).has('last-event-id')) throw new Error(TOO_LARGE);
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const hasEvents = isEventStream(response.headers);
    let bytes = 0;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MESSAGE_BYTES_MAX) {
          wasTooLarge = true;
          throw new Error(TOO_LARGE);
        }
        const lastEnd = hasEvents ? findLastEnd(chunk) : -1;
        if (lastEnd >= 0) bytes = chunk.length - lastEnd;
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counter), response);
  };
}

/** Where the last blank line of a chunk is, which ends an event; -1: it has none. */
function findLastEnd(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  return Math.max(text.lastIndexOf('\n\n'), text.lastIndexOf('\n\r\n'));
}
