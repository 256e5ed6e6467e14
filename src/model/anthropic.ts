// The model over Anthropic's Messages API. The only importer of the SDK's client: it owns what goes out (headers, body, key) and
// how every failure becomes a `ModelError`. The SDK never retries here; retries belong to the turn's stored budget (G16).
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { ModelAnswer, ModelRequest } from '../core/model-request.ts';
import { AnswerAccumulator } from './answer-accumulator.ts';
import { EventFrames } from './event-frames.ts';
import { createKeepAliveFetch, StreamedResponse } from './keep-alive-fetch.ts';
import type { AskOptions, Model } from './model.ts';
import { ModelError } from './model.ts';
import { retryAfterMsOf } from './retry-after.ts';
import { toWireRequest } from './wire-request.ts';

export interface AnthropicModelOptions {
  apiKey: string;
  /** The provider's address; the SDK's own when absent. */
  baseUrl?: string;
  /** Headers of every call, from the configuration. */
  headers?: Record<string, string>;
}

/** The most characters that one whole answer may bring before it is given up as malformed (G28). */
const ANSWER_CHARS_MAX = 64 * 1024 * 1024;
/** How long a connection may stay open after the answer is complete before it is ended from here. */
const AFTER_STOP_MS_MAX = 1000;

/** A model that asks Anthropic's Messages API, or whatever speaks it at `baseUrl`. Cheap to make; holds a pool of connections. */
export function createAnthropicModel(options: AnthropicModelOptions): Model {
  const client = new Anthropic({
    apiKey: options.apiKey,
    ...(options.baseUrl === undefined ? undefined : { baseURL: options.baseUrl }),
    ...(options.headers ? { defaultHeaders: options.headers } : undefined),
    maxRetries: 0,
    fetch: createKeepAliveFetch(),
  });

  return {
    async ask(request: ModelRequest, { signal, headers, onChunk }: AskOptions): Promise<ModelAnswer> {
      signal.throwIfAborted();
      // The SDK leaves its listener on the signal that it gets until the garbage collector comes by. A turn's signal outlives
      // hundreds of calls, so each call has one of its own.
      const call = new AbortController();
      const relayAbort = () => call.abort(signal.reason);
      signal.addEventListener('abort', relayAbort, { once: true });
      try {
        // `client.messages.create` is the same request behind a console warning per call for some models.
        const response = await client
          .post('/v1/messages', { body: toWireRequest(request), stream: true, headers, signal: call.signal })
          .asResponse();
        return await readAnswer(response, onChunk, call.signal);
      } catch (error) {
        signal.throwIfAborted();
        throw toModelError(error);
      } finally {
        signal.removeEventListener('abort', relayAbort);
      }
    },
  };
}

/** Reads the stream of a successful response to its `message_stop`. Rejects with `ModelError`, or with anything after an abort. */
function readAnswer(
  response: Response,
  onChunk: (textDelta: string) => void,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  // The SDK hands back what the fetch made, untouched.
  if (!(response instanceof StreamedResponse))
    throw new TypeError('The response did not come from the keep-alive fetch.');
  const { incoming } = response;
  const contentType = response.headers.get('content-type') ?? '';
  if (!contentType.startsWith('text/event-stream')) {
    incoming.destroy();
    throw streamError('malformed_stream', `The answer is no event stream but "${contentType}".`);
  }
  if (incoming.destroyed) throw streamError('cut_stream', 'The stream broke off at its start.');
  const frames = new EventFrames();
  const answer = new AnswerAccumulator(onChunk);
  let chars = 0;
  incoming.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => {
      incoming.destroy();
      reject(error);
    };
    incoming.on('data', (piece: string) => {
      if (answer.isStopped || signal.aborted) return;
      chars += piece.length;
      try {
        if (chars > ANSWER_CHARS_MAX) throw streamError('malformed_stream', 'The answer is too long.');
        for (const data of frames.push(piece)) answer.take(data);
        if (!answer.isStopped) return;
        resolve(answer.finish());
        releaseConnection(incoming);
      } catch (error) {
        fail(error);
      }
    });
    incoming.on('error', (cause) => fail(streamError('cut_stream', 'The stream broke off before its end.', cause)));
    incoming.on('close', () => {
      if (!answer.isStopped) reject(streamError('cut_stream', 'The stream ended before the message was complete.'));
    });
  });
}

/** Lets the connection go back to the pool when the provider ends the response, and ends it when the provider does not. */
function releaseConnection(incoming: StreamedResponse['incoming']): void {
  if (incoming.complete) return;
  const timer = setTimeout(() => incoming.destroy(), AFTER_STOP_MS_MAX);
  timer.unref();
  incoming.once('close', () => clearTimeout(timer));
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

function streamError(type: 'cut_stream' | 'malformed_stream', message: string, cause?: unknown): ModelError {
  return new ModelError({ type, status: null, retryAfterMs: null, message, cause });
}
