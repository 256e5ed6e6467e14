// The transports to Anthropic's Messages API, streamed and not. The only importer of the SDK's client. The SDK provides the address
// and the headers of a call (key, version, client) once, since they are the same for all calls, and it builds the errors from failed
// answers. The call itself is made here: the SDK's own request costs as much CPU as the rest of a call, and retries belong to the
// turn's stored budget (G16).
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import { openConnections, type Incoming, type Outgoing, type Send } from './connections.ts';
import { createModel } from './create-model.ts';
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

/** A model of Anthropic's Messages API, or of a compatible server at `baseUrl`. Cheap to make; holds a pool of connections. */
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
  });
  const send = openConnections();
  let envelope: Promise<Envelope> | null = null;
  return {
    name: isStreaming ? 'anthropic-stream' : 'anthropic-whole',
    provider: DEFAULT_PROVIDER,
    async send(call) {
      await ask(send, await (envelope ??= envelopeOf(client)), call, isStreaming);
    },
  };
}

/** What all calls have in common. */
type Envelope = Omit<Outgoing, 'body'>;

async function envelopeOf(client: Anthropic): Promise<Envelope> {
  const headers = { 'content-type': 'application/json' };
  const { req, url } = await client.buildRequest({ method: 'post', path: '/v1/messages', headers });
  return { url: new URL(url), method: 'POST', headers: Object.fromEntries(new Headers(req.headers)) };
}

async function ask(send: Send, envelope: Envelope, call: TransportCall, isStreaming: boolean): Promise<void> {
  const incoming = await dispatch(send, envelope, call, isStreaming).catch((error: unknown) => {
    throw networkError(error);
  });
  const { statusCode = 0 } = incoming;
  if (statusCode < 200 || statusCode >= 300) throw await refusalOf(incoming, statusCode);
  await (isStreaming ? readEvents : readWhole)(incoming, call);
}

/** Sends the body; the code that waits for the answer does not keep it in memory. */
function dispatch(send: Send, envelope: Envelope, call: TransportCall, isStreaming: boolean): Promise<Incoming> {
  const { bytes: body, sha256 } = writeBody(call.request, { isStreaming });
  call.onSent(body, sha256);
  return send({ ...envelope, headers: { ...envelope.headers, ...call.headers }, body }, call.signal);
}

function networkError(cause: unknown): ModelError {
  const message = cause instanceof Error ? `Connection error: ${cause.message}` : 'Connection error.';
  return new ModelError({ type: 'network', status: null, retryAfterMs: null, message, cause });
}

/** What the provider says instead of an answer, as the SDK understands it. */
async function refusalOf(incoming: Incoming, statusCode: number): Promise<ModelError> {
  const text = await readError(incoming).catch((error: unknown) => {
    throw networkError(error);
  });
  const body = parsed(text);
  const headers = headersOf(incoming);
  const error = APIError.generate(statusCode, body, body === undefined ? text : undefined, headers);
  return new ModelError({
    type: error.type ?? 'unknown_error',
    status: statusCode,
    retryAfterMs: retryAfterMsOf(headers, Date.now()),
    message: error.apiMessage ?? error.message,
    errorCode: error.errorCode,
    requestId: error.requestID ?? null,
    cause: error,
  });
}

/** How much of an error's body is read; the rest is dropped with its connection. */
const ERROR_BODY_BYTES_MAX = 1024 * 1024;

async function readError(incoming: Incoming): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > ERROR_BODY_BYTES_MAX) break;
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function headersOf({ headers }: Incoming): Headers {
  const flat = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Headers(flat);
}
