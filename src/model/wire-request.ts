// The body that goes over the wire to the Messages API, made from a model request. Pure and deterministic: the same request
// gives the same bytes, which the provider's prompt cache and the stored record of a call depend on.
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema';
import { changeContent, type ContentBlock } from '../core/content.ts';
import { given, isObject } from '../core/given.ts';
import type {
  CacheControl,
  ModelMessage,
  ModelRequest,
  Sampling,
  SystemBlock,
  ThinkingSetting,
  ToolSpec,
} from '../core/model-request.ts';
import { takesOutputFormat, type Effort } from '../core/models.ts';
import { FAMILY_POLICIES } from '../history/provider-family.ts';
import { fitTools } from './stream/fit-tools.ts';
import { withProviderIds } from './stream/provider-call-ids.ts';
import { withOutputTool } from './stream/output-tool.ts';

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
 * The body for a request, with cache breakpoints in its messages (docs/decisions/0012). The request stays untouched; all of its
 * blocks but the marked ones are shared with the result.
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

/** The form of the answer as the API takes it; undefined: there is none, or the model or the schema needs a tool for it. */
function toFormat({ model, responseFormat }: ModelRequest): { type: 'json_schema'; schema: object } | undefined {
  if (responseFormat === undefined || !takesOutputFormat(model) || !isClosed(responseFormat.schema)) return undefined;
  try {
    return { type: 'json_schema', schema: transformJSONSchema(responseFormat.schema as never) };
  } catch {
    return undefined;
  }
}

/** The API takes objects whose fields are all named. What else it does not take becomes words of a description. */
function isClosed(schema: unknown): boolean {
  if (!isObject(schema)) return !Array.isArray(schema) || schema.every(isClosed);
  const { type, properties, additionalProperties = properties === undefined && type === 'object' } = schema;
  const { not, $defs, definitions, items, anyOf, oneOf, allOf } = schema;
  if (additionalProperties !== false || not !== undefined || definitions !== undefined) return false;
  const named = [properties, $defs].flatMap((schemas) => Object.values((schemas ?? {}) as object) as unknown[]);
  return [...named, items, anyOf, oneOf, allOf].every(isClosed);
}

/** The body of the same call in a message batch, which takes no `stream`, not even false, and at least one token. */
export function toBatchParams(request: ModelRequest): Omit<WireRequest, 'stream'> {
  const { stream: _stream, ...params } = toWireRequest(request, { isStreaming: false });
  return { ...params, max_tokens: Math.max(1, params.max_tokens) };
}

/**
 * The provider reads from its cache the longest prefix that ends at a breakpoint of an earlier request, but searches only so many
 * blocks back from a breakpoint of this one. So there is one at the end, and one where the previous request ended: whatever was added
 * since, a batch of thirty calls or a long prompt, the prefix up to there is found. With the one after the stable part of the system
 * prompt that makes three of the four that a request may have.
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
