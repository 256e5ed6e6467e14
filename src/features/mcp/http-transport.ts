// An MCP server over HTTP. What it sends is bounded like a message of a server that is a process, so that none fills the memory of a worker (G28), and a
// request whose answer does not come ends.
import {
  isJSONRPCRequest,
  ProtocolErrorCode,
  StreamableHTTPClientTransport,
  type JSONRPCMessage,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/client';
import { MESSAGE_BYTES_MAX } from './stdio-transport.ts';

/** The `data` of the error of a request whose stream of events has ended without its answer. */
export const STREAM_ENDED = 'holdfast/stream-ended';

export class HttpTransport extends StreamableHTTPClientTransport {
  constructor(url: URL, options: Pick<StreamableHTTPClientTransportOptions, 'requestInit' | 'authProvider'>) {
    super(url, { ...options, fetch: createBoundedFetch() });
  }

  /** The library would wait for an answer whose stream has ended. After an answer, it takes no notice of another one. */
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
    await super.send(message, { onRequestStreamEnd: onEnd, ...options });
  }
}

const TOO_LARGE = `the answer is too large: more than ${MESSAGE_BYTES_MAX / 1024 / 1024} MiB`;

/** Of a stream of events, each is bounded: one that reports changes has no end. */
function createBoundedFetch(): (url: string | URL, init?: RequestInit) => Promise<Response> {
  let wasTooLarge = false;
  return async (url, init) => {
    // The library resumes a stream that has broken, and would get the same event again and again.
    if (wasTooLarge && new Headers(init?.headers).has('last-event-id')) throw new Error(TOO_LARGE);
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const hasEvents = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
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
