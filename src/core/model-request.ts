// The request and the answer of a model, in the format of Anthropic's Messages API but independent
// of its SDK.
import type { ContentBlock } from './content.ts';
import type { ResponseFormat } from './response-format.ts';

export interface CacheControl {
  type: 'ephemeral';
  /** How long the provider keeps it; absent: five minutes. */
  ttl?: '1h';
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

/** How a model is asked to think, as the Messages API takes it. */
export type ThinkingSetting =
  | { type: 'enabled'; budget_tokens: number }
  | { type: 'adaptive'; /** Absent: newer models leave the text of their thinking out. */ display?: 'summarized' }
  | { type: 'between_tools' }
  | { type: 'disabled' };

/** Settings that the Messages API takes as they are. */
export interface Sampling {
  temperature?: number;
  top_p?: number;
  stop_sequences?: string[];
  tool_choice?: { type: 'none' | 'any' } | { type: 'tool'; name: string };
}

export interface ModelRequest {
  /** The provider of the model; absent: `anthropic`. */
  provider?: string;
  /** The name of the key that is used; absent: the first of its provider. */
  key?: string;
  /** The provider's own model id, without the `anthropic/` prefix. */
  model: string;
  maxTokens: number;
  system: SystemBlock[];
  tools: ToolSpec[];
  messages: ModelMessage[];
  /** Absent: as the model does when nothing is said. */
  thinking?: ThinkingSetting;
  /** Absent: the model's own default. */
  effort?: Effort;
  /** Absent: the provider's defaults. */
  sampling?: Sampling;
  /** The form of the last answer; absent: any text. */
  responseFormat?: ResponseFormat;
  /** How its server takes requests, as far as it has refused others; absent: nothing is known. */
  traits?: RequestTraits;
  /**
   * True when no later request begins with the same messages: then it costs more to put them into
   * the provider's cache than not to.
   */
  isOneOff?: true;
}

/** The parts of a turn's requests that do not change from step to step. */
export type RequestBase = Omit<ModelRequest, 'messages'>;

/**
 * Token counts as the provider reports them; `inputTokens` excludes tokens that were read from or
 * written to the cache.
 */
export interface TokenCounts {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

export interface Usage extends TokenCounts {
  /** The part of `cacheWriteTokens` that the provider keeps for an hour; absent: none. */
  cacheWrite1hTokens?: number;
}

/**
 * As in the Messages API; `sensitive`: a filter of the provider ended it; `unhandled`: an unknown
 * reason.
 */
export type ModelStopReason =
  | 'end_turn'
  | 'tool_use'
  | 'max_tokens'
  | 'stop_sequence'
  | 'pause_turn'
  | 'refusal'
  | 'model_context_window_exceeded'
  | 'sensitive'
  | 'unhandled';

/** What had to be put right in an answer, for the record of its call. */
export interface AnswerRepair {
  /** The step that did it, as in `model/stream/reduce-answer.ts`. */
  step: string;
  /** The tool call that it was done to; null: the answer as a whole. */
  callId: string | null;
  /** The original text, cut to 200 characters. */
  was: string;
}

/** A complete answer. A stream that was cut never becomes one. */
export interface ModelAnswer {
  id: string;
  model: string;
  content: ContentBlock[];
  stopReason: ModelStopReason;
  usage: Usage;
  /**
   * What the provider reported, where the request cannot have used that: `usage` is an estimate
   * then. Absent: `usage` was reported.
   */
  impossibleUsage?: Usage;
  /**
   * Tool calls whose arguments were no JSON object or may have been cut off, by tool use id, with
   * the raw text; their `input` in `content` is `{}`. Such a call is never run: it is answered with
   * an error result. Absent when there is none.
   */
  malformedInputs?: Record<string, string>;
  /** The stop reason as the provider wrote it, where that is another word. */
  wireStopReason?: string;
  /** What had to be put right; absent when nothing had. */
  repairs?: AnswerRepair[];
}

// What a model is called for.

/** For a tool, which has the same name, or for the words of audio: beside the answers of a turn. */
export const PAID_PURPOSES = ['image', 'image_generate', 'tts', 'transcription'] as const;
export type PaidPurpose = (typeof PAID_PURPOSES)[number];

export const CALL_PURPOSES = ['answer', 'compaction', ...PAID_PURPOSES] as const;
export type CallPurpose = (typeof CALL_PURPOSES)[number];

/** True for a call that shows the model nothing of the conversation. */
export function isPaidPurpose(purpose: string | undefined): purpose is PaidPurpose {
  return (PAID_PURPOSES as readonly (string | undefined)[]).includes(purpose);
}

/**
 * How much work a model puts into an answer, thinking included: `output_config.effort`. `max` is
 * never sent: it knows no bound.
 */
export type Effort = 'low' | 'medium' | 'high' | 'xhigh';

// What the server of a model says about it by refusing requests, and how they are written since: in
// a form that it takes. No server is asked for it, and none is named in the code; every request is
// made as for any other server until one refuses it.

/** How requests to a model are written. */
export interface RequestTraits {
  /** It thinks on its own, so it cannot be forced to call a tool. */
  isUnforced?: true;
  /** Each of its answers has to come back with reasoning: an empty one, where there is none. */
  wantsReasoning?: true;
}
