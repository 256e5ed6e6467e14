// What a model is asked and what it answers, in the words of Anthropic's Messages API but independent of its SDK.
import type { ContentBlock } from './content.ts';

export interface CacheControl {
  type: 'ephemeral';
}

export interface SystemBlock {
  type: 'text';
  text: string;
  cache_control?: CacheControl;
}

export interface ModelMessage {
  role: 'user' | 'assistant';
  content: ContentBlock[];
}

/** A tool as the model sees it; `input_schema` is JSON Schema of type object. */
export interface ToolSpec {
  name: string;
  description: string;
  input_schema: { type: 'object'; properties?: Record<string, unknown>; required?: string[]; [key: string]: unknown };
}

export interface ModelRequest {
  /** The provider's own model id, without the `anthropic/` prefix. */
  model: string;
  maxTokens: number;
  system: SystemBlock[];
  tools: ToolSpec[];
  messages: ModelMessage[];
  /** Tokens that the model may think; absent: thinking off. */
  thinkingBudgetTokens?: number;
}

/** Token counts as the provider gives them; `inputTokens` excludes what was read from or written to the cache. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

export type StopReason =
  | 'end_turn'
  | 'tool_use'
  | 'max_tokens'
  | 'stop_sequence'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded';

/** A complete answer. A stream that was cut never becomes one. */
export interface ModelAnswer {
  id: string;
  model: string;
  content: ContentBlock[];
  stopReason: StopReason;
  usage: Usage;
  /**
   * Tool calls whose arguments were no JSON object, by tool use id, with the raw text; their `input` in `content` is `{}`. Such a
   * call is never run: it is answered with an error result. Absent when there is none.
   */
  malformedInputs?: Record<string, string>;
}
