// The `fetch` that a package is given: its bytes are seen, counted, bounded and hashed as
// Anthropic's are, nothing is sent after the lease has ended, and the events of an answer come in
// the form that the package reads.
import type { AsyncLocalStorage } from 'node:async_hooks';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { given } from '../../core/json.ts';
import { cutAnswer, malformedAnswer, post, readEvents, readRefusal as readRefusalText } from '../post.ts';
import { StreamFault } from '../stream/stream-event.ts';
import { readChunk, type Tidier } from '../stream/tidy/tidier.ts';
import type { TransportCall } from '../transport.ts';

/** A call that is under way. */
export interface SentCall {
  call: TransportCall;
  /** The size of its request; null: nothing was sent yet. */
  bytes: number | null;
}

/** The statuses of answers that can have no body. */
const WITHOUT_BODY: readonly number[] = [204, 205, 304];

/**
 * The `fetch` of a model. The first request of a call is the one that is recorded; others (for a
 * token of access) are sent like it.
 */
export function createFetch(
  pool: Dispatcher,
  calls: AsyncLocalStorage<SentCall>,
  makeTidier: () => Tidier | undefined,
): typeof globalThis.fetch {
  return async (input, init = {}) => {
    const under = calls.getStore();
    if (under === undefined) throw new Error('The package sends a request outside of a call.');
    const { call } = under;
    const url = input instanceof Request ? input.url : String(input);
    const { body } = init;
    const bytes = typeof body === 'string' || body instanceof Uint8Array ? Buffer.from(body) : undefined;
    if (under.bytes === null && bytes !== undefined) {
      under.bytes = bytes.length;
      call.onSent(bytes);
    }
    const sent = Object.fromEntries(new Headers(init.headers));
    const method = (init.method ?? 'GET') as Dispatcher.HttpMethod;
    const reply = await post(pool, { url, method, headers: sent, ...given({ body: bytes }) }, call);
    const { status, headers } = reply;
    // They are of the body as it was sent; this one is decoded.
    for (const name of ['content-encoding', 'content-length']) headers.delete(name);
    const isEmpty = WITHOUT_BODY.includes(status);
    if (isEmpty || status < 200 || status >= 300) {
      const text = await readRefusalText(reply.bytes);
      return new Response(isEmpty ? null : text, { status, headers });
    }
    const tidier = makeTidier();
    const read = tidier === undefined ? counted(reply.bytes, call) : tidied(reply.bytes, call, tidier);
    return new Response(ReadableStream.from(read), { status, headers });
  };
}

async function* counted(bytes: Readable, { onBytes }: TransportCall): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      onBytes(chunk.length);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof StreamFault ? error : cutAnswer(error);
  }
}

/** The answer with its events in the form that the package reads. */
async function* tidied(bytes: Readable, { onBytes }: TransportCall, tidier: Tidier): AsyncGenerator<Buffer> {
  let isComplete = false;
  try {
    for await (const { data } of readEvents(bytes, { onBytes, isComplete: () => isComplete })) {
      if (isComplete) continue;
      isComplete = data.trim() === '[DONE]';
      if (!isComplete) yield* framesOf(readChunk(data).flatMap((chunk) => tidier.take(chunk)));
      isComplete ||= tidier.isComplete;
    }
    yield* framesOf(tidier.end(isComplete));
  } catch (error) {
    if (error instanceof SyntaxError) throw malformedAnswer('An event of the answer is not JSON.', error);
    throw error instanceof StreamFault ? error : cutAnswer(error);
  }
}

function framesOf(chunks: readonly object[]): Buffer[] {
  return chunks.map((chunk) => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
}
