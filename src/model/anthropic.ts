// The transports to Anthropic's Messages API, streamed and not, and the only importer of the SDK's client: the SDK sends the request and
// reads the answer. Retries belong to the turn's stored budget (G16) and deadlines to the caller's signal, so both are off here. What
// failed becomes a `ModelError` in `anthropic-error.ts`.
import { hash } from 'node:crypto';
import Anthropic, { type Middleware } from '@anthropic-ai/sdk';
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import { asStreamEvent, eventsOfBody } from '../core/stream/stream-event.ts';
import { malformedAnswer, toModelError } from './anthropic-error.ts';
import type { Dispatcher } from 'undici';
import { checkBeforeWrite } from './check-before-write.ts';
import { connectionOptions, createPool } from './connections.ts';
import { createModel } from './create-model.ts';
import type { Model } from './model.ts';
import { remainingOf } from './rate-headers.ts';
import type { Transport, TransportCall } from './transport.ts';
import { toBatchParams, toWireRequest } from './wire-request.ts';

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

/** The SDK's own deadline for the first byte, in milliseconds, as long as a timer can be: the deadlines of a call are the caller's. */
const FIRST_BYTE_MS_MAX = 2 ** 31 - 1;

/** How long the end of a response may follow its complete answer before the connection is closed, in milliseconds. */
const AFTER_STOP_MS_MAX = 1000;

/** The largest number of bytes of an error's body that is read. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

/** A model of Anthropic's Messages API, or of a compatible server at `baseUrl`. Cheap to make; holds a pool of connections. */
export function createAnthropicModel(options: AnthropicOptions): Model {
  return createModel({ transports: [createAnthropicTransport(options)] });
}

/** The transport to the Messages API. */
export function createAnthropicTransport({
  isStreaming = true,
  provider: name = DEFAULT_PROVIDER,
  ...options
}: AnthropicOptions): Transport {
  const pool = createPool();
  const provider = { client: createClient(options, pool), pool };
  return {
    name: isStreaming ? 'anthropic-stream' : 'anthropic-whole',
    provider: name,
    account: hash('sha256', `${provider.client.baseURL} ${options.apiKey}`, 'hex').slice(0, 16),
    ...(name === DEFAULT_PROVIDER ? { batchParams: (request) => toBatchParams(request) } : {}),
    async send(call) {
      try {
        await (isStreaming ? askStreamed : askWhole)(provider, call);
      } catch (error) {
        throw toModelError(error);
      }
    },
  };
}

interface Provider {
  client: Anthropic;
  pool: Dispatcher;
}

function createClient({ apiKey, baseUrl, headers }: AnthropicOptions, pool: Dispatcher): Anthropic {
  return new Anthropic({
    apiKey,
    ...(baseUrl === undefined ? undefined : { baseURL: baseUrl }),
    ...(headers ? { defaultHeaders: headers } : undefined),
    ...connectionOptions(pool),
    maxRetries: 0,
    timeout: FIRST_BYTE_MS_MAX,
    // The SDK would log the events that it cannot parse, which hold what the model wrote.
    logLevel: 'off',
  });
}

async function askStreamed({ client, pool }: Provider, call: TransportCall): Promise<void> {
  const body = { ...toWireRequest(call.request), stream: true } as Anthropic.MessageCreateParamsStreaming;
  const stream = await client.messages.create(body, requestOptions(pool, call, 'text/event-stream'));
  const events = stream[Symbol.asyncIterator]();
  let isComplete = false;
  try {
    while (!isComplete) {
      const next = await events.next();
      if (next.done === true) return;
      isComplete = call.onEvent(asStreamEvent(next.value));
    }
    await readToEnd(events, stream.controller);
  } finally {
    // Closes the connection of a stream that has more to say.
    await events.return?.();
  }
}

async function askWhole({ client, pool }: Provider, call: TransportCall): Promise<void> {
  const body = toWireRequest(call.request, { isStreaming: false }) as Anthropic.MessageCreateParamsNonStreaming;
  const message = await client.messages.create(body, requestOptions(pool, call, 'application/json'));
  eventsOfBody(message).some(call.onEvent);
}

/**
 * Waits until the provider has ended the response of a complete answer, so that the next call can use the connection, and closes the
 * connection when the provider does not.
 */
async function readToEnd(events: AsyncIterator<unknown>, controller: AbortController): Promise<void> {
  const timer = setTimeout(() => controller.abort(), AFTER_STOP_MS_MAX);
  try {
    while ((await events.next()).done !== true);
  } catch {
    // The answer is complete: what happens to its connection afterwards does not matter.
  } finally {
    clearTimeout(timer);
  }
}

function requestOptions(pool: Dispatcher, call: TransportCall, contentType: string): Anthropic.RequestOptions {
  return {
    signal: call.signal,
    headers: call.headers,
    middleware: [watchBytes(call, contentType)],
    fetchOptions: { dispatcher: pool.compose(checkBeforeWrite(call.onWrite)) },
  };
}

/**
 * Reports the body of the request and the bytes of the answer, and bounds both answers and errors (G28): the SDK reads whatever comes.
 * It also refuses an answer of another type, in which the SDK would find no events.
 */
function watchBytes(call: TransportCall, contentType: string): Middleware {
  return async (request, next) => {
    // The SDK has written the body as JSON.
    call.onSent(request.body as string);
    const response = await next(request);
    const { ok, body } = response;
    call.onRemaining?.(remainingOf(response.headers));
    if (body === null) return response;
    const actualType = response.headers.get('content-type') ?? '';
    if (ok && !actualType.startsWith(contentType)) {
      await body.cancel();
      throw malformedAnswer(`The answer is not ${contentType} but "${actualType}".`);
    }
    return new Response(ok ? counted(body, call) : body.pipeThrough(firstBytes()), response);
  };
}

/**
 * The same bytes, counted; what `onBytes` throws ends the answer and its connection. A `TransformStream` does the same for a quarter of all
 * that a call costs, because it pipes through two more streams.
 */
function counted(body: ReadableStream<Uint8Array<ArrayBuffer>>, { onBytes, signal }: TransportCall): typeof body {
  const reader = body.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        try {
          if (!signal.aborted) onBytes(value.byteLength);
        } catch (error) {
          await reader.cancel(error);
          throw error;
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function firstBytes(): TransformStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      controller.enqueue(chunk);
      if (bytes >= ERROR_BODY_BYTES_MAX) controller.terminate();
    },
  });
}
