// The body that goes over the wire to the Messages API, made from a model request. Pure and deterministic: the same request
// gives the same bytes, which the provider's prompt cache and the stored record of a call depend on.
import type { ContentBlock } from '../core/content.ts';
import type { CacheControl, ModelMessage, ModelRequest, SystemBlock, ToolSpec } from '../core/model-request.ts';

type CachedBlock = ContentBlock & { cache_control?: CacheControl };

/** The JSON body of `POST /v1/messages`. */
export interface WireRequest {
  model: string;
  max_tokens: number;
  stream: true;
  thinking?: { type: 'enabled'; budget_tokens: number };
  tools?: ToolSpec[];
  system?: SystemBlock[];
  messages: { role: ModelMessage['role']; content: CachedBlock[] }[];
}

/**
 * The body for a request, with a cache breakpoint on the last block of the last message (CONTRACT.md section 5). The request
 * stays untouched; all of its blocks but that one are shared with the result.
 */
export function toWireRequest(request: ModelRequest): WireRequest {
  const { thinkingBudgetTokens, system, tools } = request;
  return {
    model: request.model,
    max_tokens: request.maxTokens,
    stream: true,
    ...(thinkingBudgetTokens === undefined
      ? undefined
      : { thinking: { type: 'enabled', budget_tokens: thinkingBudgetTokens } }),
    // The API refuses empty text blocks and has no use for empty lists.
    ...(tools.length > 0 ? { tools } : undefined),
    ...(system.length > 0 ? { system } : undefined),
    messages: withBreakpointAtEnd(request.messages),
  };
}

function withBreakpointAtEnd(messages: readonly ModelMessage[]): WireRequest['messages'] {
  const last = messages.at(-1);
  const at = last ? last.content.findLastIndex(mayCarryBreakpoint) : -1;
  const marked = last?.content[at];
  if (!last || !marked) return [...messages];
  const content = last.content.with(at, { ...marked, cache_control: { type: 'ephemeral' } } as CachedBlock);
  return [...messages.slice(0, -1), { role: last.role, content }];
}

/** Thinking blocks and empty texts take no `cache_control`: the API answers 400. */
function mayCarryBreakpoint(block: ContentBlock): boolean {
  if (block.type === 'thinking' || block.type === 'redacted_thinking') return false;
  return block.type !== 'text' || block.text !== '';
}
