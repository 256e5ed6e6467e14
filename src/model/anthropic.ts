// The transports to Anthropic's Messages API, streamed and not. The only importer of the SDK's client: it owns what goes out (headers,
// body, key) and how every failure becomes a `ModelError`. The SDK never retries here; retries belong to the turn's stored budget (G16).
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import { createModel } from './create-model.ts';
import { createKeepAliveFetch } from './keep-alive-fetch.ts';
import type { Model } from './model.ts';
import { ModelError } from './model.ts';
import { readEvents, readWhole } from './read-response.ts';
import { retryAfterMsOf } from './retry-after.ts';
import type { Transport, TransportCall } from './transport.ts';
import { writeBody } from './write-body.ts';

export interface AnthropicOptions {
  apiKey: string;
  /** The provider's address; the SDK's own when absent. */
  baseUrl?: string;
  /** Headers of every call, from the configuration. */
  headers?: Record<string, string>;
  /** False: answers come as one body. Absent: they are streamed. */
  isStreaming?: boolean;
}

/** A model that asks Anthropic's Messages API, or whatever speaks it at `baseUrl`. Cheap to make; holds a pool of connections. */
export function createAnthropicModel(options: AnthropicOptions): Model {
  return createModel({ transports: [createAnthropicTransport(options)] });
}

/** The transport to the Messages API. */
export function createAnthropicTransport(options: AnthropicOptions): Transport {
  const { isStreaming = true } = options;
  const client = new Anthropic({
    apiKey: options.apiKey,
    ...(options.baseUrl === undefined ? undefined : { baseURL: options.baseUrl }),
    ...(options.headers ? { defaultHeaders: options.headers } : undefined),
    maxRetries: 0,
    fetch: createKeepAliveFetch(),
  });
  return {
    name: isStreaming ? 'anthropic-stream' : 'anthropic-whole',
    provider: DEFAULT_PROVIDER,
    send: (call) => send(client, call, isStreaming),
  };
}

async function send(client: Anthropic, call: TransportCall, isStreaming: boolean): Promise<void> {
  const { request, headers, signal } = call;
  // The SDK leaves its listener on the signal that it gets until the garbage collector comes by. A turn's signal outlives
  // hundreds of calls, so each call has one of its own.
  const own = new AbortController();
  const relayAbort = () => own.abort(signal.reason);
  signal.addEventListener('abort', relayAbort, { once: true });
  try {
    const { bytes: body, sha256 } = writeBody(request, { isStreaming });
    call.onSent(body, sha256);
    // `client.messages.create` is the same request behind a console warning per call for some models. A body that is a text
    // already is sent as it is, if its type is said.
    const response = await client
      .post('/v1/messages', {
        body,
        headers: { 'content-type': 'application/json', ...headers },
        stream: isStreaming,
        signal: own.signal,
      })
      .asResponse();
    await (isStreaming ? readEvents : readWhole)(response, { ...call, signal: own.signal });
  } catch (error) {
    throw toModelError(error);
  } finally {
    signal.removeEventListener('abort', relayAbort);
  }
}

/** Whatever the SDK or the stream threw, as the one error of the port; what is no failure of a call stays as it is. */
function toModelError(error: unknown): unknown {
  if (!(error instanceof APIError)) return error;
  // The SDK's classes for connection trouble have no status.
  if (error.status === undefined) {
    const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    return new ModelError({
      type: 'network',
      status: null,
      retryAfterMs: null,
      message: error.message + cause,
      cause: error,
    });
  }
  return new ModelError({
    type: error.type ?? 'unknown_error',
    status: error.status,
    retryAfterMs: error.headers ? retryAfterMsOf(error.headers, Date.now()) : null,
    message: error.apiMessage ?? error.message,
    errorCode: error.errorCode,
    requestId: error.requestID ?? null,
    cause: error,
  });
}
