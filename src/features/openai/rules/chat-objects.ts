// The objects of a chat completion, streamed and whole. All chunks of an answer have the same id,
// time and model; the first has the role, one has the reason of the end, and a last one the usage,
// for clients that ask for it.
import type { ModelStopReason } from '../../../core/model-request.ts';
import type { SegmentUsage } from './segment.ts';

/** What all objects of an answer have in common. */
export interface ChatIdentity {
  id: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
}

/** Its arguments are JSON; the input of a custom tool is any text. */
export type ChatToolCall = { id: string; name: string; namespace?: string } & (
  | { arguments: string }
  | { input: string }
);

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** OpenAI's word for the end of an answer. */
export function toFinishReason(stopReason: ModelStopReason | null): FinishReason {
  if (stopReason === 'max_tokens') return 'length';
  return stopReason === 'refusal' || stopReason === 'sensitive' ? 'content_filter' : 'stop';
}

/** Cached tokens are a part of the prompt's. */
export function chatUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: SegmentUsage) {
  const promptTokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    total_tokens: promptTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

export function chatCompletion(
  { id, created, model }: ChatIdentity,
  answer: { text: string; calls: readonly ChatToolCall[]; finish: FinishReason; usage: SegmentUsage },
) {
  const { text, calls, finish, usage } = answer;
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    refusal: null,
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => wireCall(call)) }),
  };
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finish }],
    usage: chatUsage(usage),
  };
}

/**
 * Makes the chunks of one answer, in the order in which they are sent. `sendsUsage`: the client has
 * asked for it.
 */
export class ChatChunks {
  readonly #identity: ChatIdentity;
  readonly #sendsUsage: boolean;
  #isBegun = false;

  constructor(identity: ChatIdentity, { sendsUsage }: { sendsUsage: boolean }) {
    this.#identity = identity;
    this.#sendsUsage = sendsUsage;
  }

  text(text: string): object[] {
    return [...this.#begin(), this.#chunk({ content: text }, null)];
  }

  /** The last ones. */
  end(calls: readonly ChatToolCall[], finish: FinishReason, usage: SegmentUsage): object[] {
    const called = calls.map((call, index) => this.#chunk({ tool_calls: [{ index, ...wireCall(call) }] }, null));
    const last = this.#sendsUsage ? [{ ...this.#frame(), choices: [], usage: chatUsage(usage) }] : [];
    return [...this.#begin(), ...called, this.#chunk({}, finish), ...last];
  }

  #begin(): object[] {
    if (this.#isBegun) return [];
    this.#isBegun = true;
    return [this.#chunk({ role: 'assistant', content: '', refusal: null }, null)];
  }

  #chunk(delta: object, finish: FinishReason | null): object {
    return {
      ...this.#frame(),
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      ...(this.#sendsUsage ? { usage: null } : {}),
    };
  }

  #frame() {
    const { id, created, model } = this.#identity;
    return { id, object: 'chat.completion.chunk', created, model };
  }
}

function wireCall({ id, name, ...call }: ChatToolCall) {
  return 'input' in call
    ? { id, type: 'custom', custom: { name, input: call.input } }
    : { id, type: 'function', function: { name, arguments: call.arguments } };
}
