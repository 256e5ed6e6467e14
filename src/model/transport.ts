// The transport port: how one request is sent to a provider and the events of its answer are
// returned. Which transport serves a model is chosen per call, by the model's provider; plugins may
// provide transports of their own. Details of a provider (a prompt cache that must be created
// first, a socket instead of a request) stay inside its transport.
import { type ArgumentEncoding, type ProviderFamily, FAMILY_POLICIES } from '../history/provider-family.ts';
import type { Amounts } from '../core/rate-limit.ts';
import { DEFAULT_PROVIDER, takesOutputFormat } from '../core/models.ts';
import type {
  Effort,
  ModelRequest,
  CacheControl,
  ModelMessage,
  Sampling,
  SystemBlock,
  ThinkingSetting,
  ToolSpec,
} from '../core/model-request.ts';
import { ModelError, type Addressee } from './model.ts';
import type { StreamEvent } from './stream/stream-event.ts';
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { changeContent, type ContentBlock } from '../core/content.ts';
import { given, isObject } from '../core/json.ts';
import { fitTools, withOutputTool } from './stream/fit-tools.ts';
import { withProviderIds } from './stream/repair-calls.ts';

export interface TransportCall {
  request: ModelRequest;
  /** The session of the call: the same key for all requests that begin alike; absent: none. */
  sessionKey?: string;
  /**
   * The first message that is new since the last answer of this model and key; absent: not known.
   */
  newFrom?: number;
  /** Extra headers, for audit. */
  headers: Record<string, string>;
  /** Aborts the call; `send` then rejects, with anything. */
  signal: AbortSignal;
  /**
   * Call it once, right before the request is sent: the body as it is sent, and its hash in hex
   * where that is known.
   */
  onSent: (body: string | Uint8Array, sha256?: string) => void;
  /**
   * Call it, where that is possible, when the connection is made and the request is about to be
   * written: throws when nothing may be sent any more, because the lease of the call has ended in
   * the meantime (G7).
   */
  onWrite: () => void;
  /** Call it with what is left of the provider's rate limits, if the provider reports it. */
  onRemaining?: (remaining: Amounts) => void;
  /** Call it for each received chunk, with its number of bytes. */
  onBytes: (count: number) => void;
  /**
   * Call it with each event, in order. Returns true when the answer is complete: the rest is not
   * read. It throws `StreamFault` when the events are not a valid answer; `send` then closes the
   * connection and rejects with that error.
   */
  onEvent: (event: StreamEvent) => boolean;
}

export interface Transport {
  /** For logs and traces: `anthropic-stream`. */
  readonly name: string;
  /** The provider whose models it serves, as in `provider/model`. */
  readonly provider: string;
  /** Whose limits its calls count against; absent: the provider's name. */
  readonly account?: string;
  /**
   * The key that it uses; absent: its provider has none by name. A provider with several keys has a
   * transport for each.
   */
  readonly key?: { name: string; scope: string };
  /**
   * Of which family the provider is: decides in what form it takes the history of a conversation.
   * Absent: anthropic.
   */
  readonly family?: ProviderFamily;
  /** How it writes the arguments of tool calls; absent: as they are. */
  readonly toolCallArgumentsEncoding?: ArgumentEncoding;
  /** The body of a call in a batch of the provider; absent: it has no batches. */
  batchParams?(request: ModelRequest): object;
  /**
   * The body that `send` would send; nothing is sent. Absent: it is that of the Messages API, or
   * only the transport knows it.
   */
  writeBody?(call: Pick<TransportCall, 'request' | 'sessionKey'>): Promise<Uint8Array>;
  /**
   * The names of the models that the provider lists; absent: it has no list that is known. Throws
   * `ModelError`.
   */
  readonly listModels?: ((signal: AbortSignal) => Promise<string[]>) | undefined;
  /**
   * Sends one request, without retries of its own, and resolves when `onEvent` has said that the
   * answer is complete. Throws `ModelError` for anything the provider or the network did wrong, a
   * stream that ends too early included.
   */
  send(call: TransportCall): Promise<void>;
}

/**
 * The first of `transports` that serves the provider of a request, with its key where there is one.
 */
export function findTransport(
  transports: readonly Transport[],
  { provider = DEFAULT_PROVIDER, key }: Addressee,
): Transport | undefined {
  const first = transports.find((transport) => transport.provider === provider);
  // One of a plugin comes first, and takes all requests of its provider.
  if (key === undefined || first?.key === undefined) return first;
  return transports.find((transport) => transport.provider === provider && transport.key?.name === key) ?? first;
}

/**
 * The same. Throws `ModelError`, as for a model that does not exist: the provider may have been
 * removed while a turn was open.
 */
export function selectTransport(transports: readonly Transport[], request: Addressee): Transport {
  const { provider = DEFAULT_PROVIDER } = request;
  const found = findTransport(transports, request);
  if (found !== undefined) return found;
  const known = [...new Set(transports.map((transport) => transport.provider))].join(', ') || 'none';
  const message = `no transport serves the provider ${JSON.stringify(provider)}; known: ${known}`;
  throw new ModelError({
    type: 'not_found_error',
    status: null,
    retryAfterMs: null,
    errorCode: 'no_transport',
    message,
  });
}

// The body that goes over the wire to the Messages API, made from a model request. Pure and
// deterministic: the same request gives the same bytes, which the provider's prompt cache and the
// stored record of a call depend on.

type CachedBlock = ContentBlock & { cache_control?: CacheControl };

/** The JSON body of `POST /v1/messages`. */
export interface WireRequest extends Sampling {
  model: string;
  max_tokens: number;
  stream: boolean;
  thinking?: ThinkingSetting;
  output_config?: { effort?: Effort; format?: { type: 'json_schema'; schema: object } };
  tools?: ToolSpec[];
  system?: SystemBlock[];
  messages: { role: ModelMessage['role']; content: CachedBlock[] }[];
}

/**
 * The body for a request, with cache breakpoints in its messages (docs/decisions/0012). The request
 * stays untouched; all of its blocks but the marked ones are shared with the result.
 */
export function toWireRequest(
  asked: ModelRequest,
  { isStreaming = true }: { isStreaming?: boolean } = {},
): WireRequest {
  const format = toFormat(asked);
  const request = fitTools(format === undefined ? withOutputTool(asked) : asked, 'anthropic');
  const { thinking, effort, sampling, system, tools } = request;
  const output = given({ effort, format });
  const messages = withoutOrigins(withProviderIds(request.messages, FAMILY_POLICIES.anthropic.callIds));
  return {
    model: request.model,
    max_tokens: request.maxTokens,
    stream: isStreaming,
    ...(thinking === undefined ? undefined : { thinking }),
    ...(Object.keys(output).length === 0 ? undefined : { output_config: output }),
    ...sampling,
    // The API refuses empty text blocks and has no use for empty lists.
    ...(tools.length > 0 ? { tools } : undefined),
    ...(system.length > 0 ? { system } : undefined),
    messages: request.isOneOff === true ? [...messages] : withBreakpoints(messages),
  };
}

/** The API has no such field. */
function withoutOrigins(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    changeContent(message, (block) => {
      if (!('origin' in block)) return block;
      const { origin: _origin, ...rest } = block;
      return rest;
    }),
  );
}

/**
 * The form of the answer as the API takes it; undefined: there is none, or the model or the schema
 * needs a tool for it.
 */
function toFormat({ model, responseFormat }: ModelRequest): { type: 'json_schema'; schema: object } | undefined {
  if (responseFormat === undefined || !takesOutputFormat(model) || !isClosed(responseFormat.schema)) return undefined;
  try {
    return { type: 'json_schema', schema: transformJSONSchema(responseFormat.schema as never) };
  } catch {
    return undefined;
  }
}

/**
 * The API takes objects whose fields are all named. What else it does not take becomes words of a
 * description.
 */
function isClosed(schema: unknown): boolean {
  if (!isObject(schema)) return !Array.isArray(schema) || schema.every(isClosed);
  const { type, properties, additionalProperties = properties === undefined && type === 'object' } = schema;
  const { not, $defs, definitions, items, anyOf, oneOf, allOf } = schema;
  if (additionalProperties !== false || not !== undefined || definitions !== undefined) return false;
  const named = [properties, $defs].flatMap((schemas) => Object.values((schemas ?? {}) as object) as unknown[]);
  return [...named, items, anyOf, oneOf, allOf].every(isClosed);
}

/**
 * The body of the same call in a message batch, which takes no `stream`, not even false, and at
 * least one token.
 */
export function toBatchParams(request: ModelRequest): Omit<WireRequest, 'stream'> {
  const { stream: _stream, ...params } = toWireRequest(request, { isStreaming: false });
  return { ...params, max_tokens: Math.max(1, params.max_tokens) };
}

/**
 * The provider reads from its cache the longest prefix that ends at a breakpoint of an earlier
 * request, but searches only so many blocks back from a breakpoint of this one. So there is one at
 * the end, and one where the previous request ended: whatever was added since, a batch of thirty
 * calls or a long prompt, the prefix up to there is found. With the one after the stable part of
 * the system prompt that makes three of the four that a request may have.
 */
function withBreakpoints(messages: readonly ModelMessage[]): WireRequest['messages'] {
  const marked: WireRequest['messages'] = [...messages];
  const last = messages.length - 1;
  const answerAt = messages.findLastIndex((message, at) => at < last && message.role === 'assistant');
  for (const at of [answerAt - 1, last]) {
    const message = messages[at];
    if (message !== undefined) marked[at] = withBreakpoint(message);
  }
  return marked;
}

function withBreakpoint(message: ModelMessage): WireRequest['messages'][number] {
  const at = message.content.findLastIndex(mayCarryBreakpoint);
  const block = message.content[at];
  if (block === undefined) return message;
  const marked = { ...block, cache_control: { type: 'ephemeral' } } as CachedBlock;
  return { role: message.role, content: message.content.with(at, marked) };
}

/** Thinking blocks and empty texts take no `cache_control`: the API answers 400. */
function mayCarryBreakpoint(block: ContentBlock): boolean {
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return false;
  return block.type !== 'text' || block.text !== '';
}
