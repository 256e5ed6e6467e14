// The transports to Anthropic's Messages API, streamed and not. The SDK gives address and headers
// of a call and reads refusals; the call itself is made here (decision 74). Retries belong to the
// turn's stored budget (G16) and deadlines to the caller's signal. What failed becomes a
// `ModelError` below.
import type { Readable } from 'node:stream';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import type { Dispatcher } from 'undici';
import { CONTEXT_OVERFLOW, isTooLong, REFUSED_FORCING } from '../core/failure.ts';
import { DEFAULT_PROVIDER } from '../core/models.ts';
import type { ModelRequest, ModelMessage } from '../core/model-request.ts';
import { readRefusal as judge } from './ai-sdk/rules/read-refusal.ts';
import { isForced } from './stream/fit-tools.ts';
import { StreamFault } from './stream/stream-event.ts';
import { readChunk } from './stream/tidy/tidier.ts';
import { MessagesTidier } from './stream/tidy/tidy-messages.ts';
import { accountOfKey } from './account.ts';
import { createPool } from './connections.ts';
import { createModel } from './create-model.ts';
import { listModels } from './list-models.ts';
import { ModelError, type Model } from './model.ts';
import { cutAnswer, malformedAnswer, post, readEvents, readRefusal } from './post.ts';
import { type Transport, type TransportCall, toBatchParams, toWireRequest } from './transport.ts';
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
  /**
   * Absent: Anthropic itself; else another provider with the same API, whose batches are not used.
   */
  provider?: string;
}

/**
 * A model of Anthropic's Messages API, or of a compatible server at `baseUrl`. Cheap to make; holds
 * a pool of connections.
 */
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
    account: accountOfKey({ provider, api: 'anthropic', baseUrl: client.baseURL, key: apiKey }),
    ...(provider === DEFAULT_PROVIDER ? { batchParams: (asked) => toBatchParams(asked) } : {}),
    async listModels(signal) {
      const { headers: common } = await (envelope ??= toEnvelope(client));
      return listModels(pool, { url: `${client.baseURL}/v1/models?limit=1000`, headers: common }, signal);
    },
    async send(call) {
      try {
        const answer = await ask(pool, await (envelope ??= toEnvelope(client)), call, isStreaming);
        await readAnswer(answer, call);
      } catch (error) {
        throw toModelError(error, call.request);
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
async function ask(pool: Dispatcher, common: Envelope, call: TransportCall, isStreaming: boolean): Promise<Answer> {
  const body = writeBody(call.request, { isStreaming });
  call.onSent(body);
  const sent = { ...common.headers, ...call.headers };
  const { status, headers, bytes } = await post(pool, { url: common.url, headers: sent, body }, call);
  call.onRemaining?.(readRemaining(headers));
  if (status < 200 || status >= 300) throw await toRefusal(status, { headers, bytes });
  // What is called HTML here is none (`post`).
  const types = ['text/event-stream', 'application/json', 'text/html'];
  const actual = headers.get('content-type')?.toLowerCase() ?? '';
  if (types.some((type) => actual.startsWith(type))) return { headers, bytes };
  bytes.destroy();
  throw malformedAnswer(`The answer is not ${isStreaming ? types[0] : types[1]} but "${actual}".`);
}

async function readAnswer({ headers, bytes }: Answer, call: TransportCall): Promise<void> {
  let isComplete = false;
  const tidier = new MessagesTidier();
  const events = readEvents(bytes, { onBytes: (count) => call.onBytes(count), isComplete: () => isComplete });
  for await (const { event, data } of events) {
    if (isComplete || event === 'ping') continue;
    if (event === 'error') throw new APIError(undefined, parsed(data) ?? data, undefined, headers);
    isComplete = readChunk(data)
      .flatMap((value) => tidier.take(value))
      .some((one) => call.onEvent(one));
  }
}

/** The SDK's reading of a refusal, of whose body only the beginning is read (G28). */
async function toRefusal(status: number, { headers, bytes }: Answer): Promise<APIError> {
  const text = await readRefusal(bytes);
  const body = parsed(text);
  return APIError.generate(status, body, body === undefined ? text : undefined, headers);
}

function parsed(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

// What a call throws, as a `ModelError`: refusals with their status and code, faults of the
// network, and answers that were cut or made no sense.

/** The error of a call. Errors that are already in their final form stay as they are. */
function toModelError(error: unknown, asked: ModelRequest): unknown {
  if (error instanceof ModelError || error instanceof StreamFault) return error;
  if (error instanceof APIError) return refusal(error, asked);
  if (error instanceof SyntaxError) return malformedAnswer('The answer is not JSON.', error);
  return cutAnswer(error);
}

/**
 * An error that the provider sends instead of an answer, or inside one; the latter has no status.
 */
function refusal(error: APIError, asked: ModelRequest): ModelError {
  const { status = null, headers } = error;
  const sent = { isForced: isForced(asked, toWireRequest(asked).tool_choice), takesReasoning: false };
  const read = judge({ status, body: error.error, fallback: error.message, sent });
  const fault = {
    type: error.type ?? (status === null ? 'api_error' : 'unknown_error'),
    status,
    retryAfterMs: status === null || headers === undefined ? null : readRetryAfter(headers, Date.now()),
    message: read.message,
  };
  // Servers with the same API have words of their own, which count where the type says less.
  const isOwn = read.type === REFUSED_FORCING || (read.type === CONTEXT_OVERFLOW && !isTooLong(fault));
  return new ModelError({
    ...fault,
    ...(isOwn ? { type: read.type } : {}),
    errorCode: error.errorCode,
    requestId: error.requestID ?? null,
    cause: error,
  });
}

// Reads from the headers of an answer what is left of the provider's rate limits.

const HEADERS: readonly (readonly [RateUnit, string])[] = [
  ['requests', 'anthropic-ratelimit-requests-remaining'],
  ['inputTokens', 'anthropic-ratelimit-input-tokens-remaining'],
  ['outputTokens', 'anthropic-ratelimit-output-tokens-remaining'],
];

/**
 * What is left of each limit that the headers name. Values that are not whole numbers are ignored.
 */
export function readRemaining(headers: { get(name: string): string | null }): Amounts {
  return Object.fromEntries(
    HEADERS.flatMap(([unit, name]) => {
      const text = headers.get(name);
      return text !== null && /^\d{1,15}$/.test(text) ? [[unit, Number(text)]] : [];
    }),
  );
}

// The body of a request to the Messages API, as bytes. What later requests have, too, is written
// once: tools, system prompt, and the beginning of a conversation (decision 122). Its objects never
// change, and its bytes are dropped with them. What is not an object of the request itself was made
// for one body and is not kept: a message with a cache breakpoint, which moves, or a tool whose
// schema had to be changed.

/**
 * When more bytes were written, all that are kept are dropped. Those whose objects are gone count,
 * too, so it is an upper limit.
 */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The first messages of a conversation, and their JSON with commas between them, which grows by a
 * piece with each request.
 */
interface Beginning {
  messages: ModelMessage[];
  pieces: Uint8Array[];
  /** How many messages there are up to the end of each piece. */
  ends: number[];
}

let kept = keepNothing();

function keepNothing() {
  return {
    bytes: 0,
    /** Tools and blocks of system prompts. */
    parts: new WeakMap<object, Uint8Array>(),
    /** By the first message. */
    beginnings: new WeakMap<ModelMessage, Beginning>(),
  };
}

/** The bytes of what `toWireRequest` returns. */
export function writeBody(request: ModelRequest, options: { isStreaming: boolean }): Uint8Array {
  const { tools = [], system = [], messages, ...head } = toWireRequest(request, options);
  const beginning = begin(messages, request.messages);
  const rest = messages.slice(beginning.messages.length);
  return Buffer.concat([
    encode(JSON.stringify(head).slice(0, -1)),
    ...writeParts('tools', tools, request.tools),
    ...writeParts('system', system, request.system),
    encode(',"messages":['),
    ...beginning.pieces,
    encode(`${beginning.pieces.length > 0 && rest.length > 0 ? ',' : ''}${JSON.stringify(rest).slice(1)}}`),
  ]);
}

function writeParts(name: string, parts: readonly object[], own: readonly object[]): Uint8Array[] {
  if (parts.length === 0) return [];
  const pieces = parts.flatMap((part, at) => [
    at === 0 ? encode(`,"${name}":[`) : COMMA,
    part === own[at] ? writePart(part) : encode(JSON.stringify(part)),
  ]);
  return [...pieces, CLOSE];
}

function writePart(part: object): Uint8Array {
  const known = kept.parts.get(part);
  if (known !== undefined) return known;
  const bytes = writeKept(JSON.stringify(part));
  kept.parts.set(part, bytes);
  return bytes;
}

/** The messages up to the first with an image or that is not of the request itself. */
function begin(messages: readonly ModelMessage[], own: readonly ModelMessage[]): Beginning {
  const [first] = messages;
  const none: Beginning = { messages: [], pieces: [], ends: [] };
  if (first === undefined) return none;
  const known = kept.beginnings.get(first);
  const beginning = known === undefined ? none : sameBeginning(known, messages);
  const from = beginning.messages.length;
  const end = messages.findIndex((message, at) => at >= from && (message !== own[at] || hasImage(message)));
  const added = messages.slice(from, end === -1 ? undefined : end);
  if (added.length === 0) return beginning;
  const bytes = writeKept(`${from === 0 ? '' : ','}${JSON.stringify(added).slice(1, -1)}`);
  kept.beginnings.set(first, beginning);
  beginning.messages.push(...added);
  beginning.pieces.push(bytes);
  beginning.ends.push(beginning.messages.length);
  return beginning;
}

/** The pieces up to the first message that is another one now. */
function sameBeginning(known: Beginning, messages: readonly ModelMessage[]): Beginning {
  const changedAt = known.messages.findIndex((message, at) => message !== messages[at]);
  if (changedAt === -1) return known;
  const count = known.ends.filter((end) => end <= changedAt).length;
  const [pieces, ends] = [known.pieces.slice(0, count), known.ends.slice(0, count)];
  return { messages: known.messages.slice(0, ends.at(-1) ?? 0), pieces, ends };
}

function hasImage({ content }: ModelMessage): boolean {
  return content.some((block) => {
    if (block.type !== 'tool_result' || typeof block.content === 'string') return block.type === 'image';
    return block.content.some(({ type }) => type === 'image');
  });
}

function writeKept(json: string): Uint8Array {
  const bytes = encode(json);
  if (kept.bytes + bytes.length > KEPT_BYTES_MAX) kept = keepNothing();
  kept.bytes += bytes.length;
  return bytes;
}

const encoder = new TextEncoder();
const COMMA = encode(',');
const CLOSE = encode(']');

/**
 * In memory of its own: `Buffer.from` puts a short text into a block of 8 kB, which stays as long
 * as anything in it.
 */
function encode(text: string): Uint8Array {
  return encoder.encode(text);
}
