// The objects of a response, streamed and whole. The events of a stream are numbered, and equal for
// a client that reads them again, so it can continue after the last one that it has.
import type { ChatToolCall, FinishReason } from './chat-objects.ts';
import type { SegmentUsage } from './segment.ts';

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

/** What all objects of a response have in common. */
export interface ResponseIdentity {
  id: string;
  /** Seconds since the epoch. */
  created: number;
  model: string;
  /** The fields of the request, in OpenAI's names. */
  asked: Record<string, unknown>;
}

export interface ResponseState {
  status: ResponseStatus;
  text: string;
  calls: readonly ChatToolCall[];
  /** Null: it has not ended. */
  usage: SegmentUsage | null;
  error: { code: string; message: string } | null;
  /** Why it is incomplete. */
  reason?: 'max_output_tokens' | 'content_filter';
}

export function endedState(
  finish: FinishReason,
  answer: { text: string; calls: readonly ChatToolCall[]; usage: SegmentUsage },
): ResponseState {
  if (finish === 'length') return { ...answer, status: 'incomplete', error: null, reason: 'max_output_tokens' };
  if (finish === 'content_filter') return { ...answer, status: 'incomplete', error: null, reason: 'content_filter' };
  return { ...answer, status: 'completed', error: null };
}

export function responseObject({ id, created, model, asked }: ResponseIdentity, state: ResponseState) {
  const { status, text, calls, usage, error, reason } = state;
  const itemStatus = status === 'incomplete' ? 'incomplete' : 'completed';
  return {
    id,
    object: 'response',
    created_at: created,
    status,
    background: false,
    error,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    max_output_tokens: null,
    model,
    output: [
      ...(text === '' ? [] : [messageItem(id, text, itemStatus)]),
      ...calls.map((call, at) => callItem(id, at, call, 'completed')),
    ],
    conversation: null,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: usage === null ? null : responseUsage(usage),
    metadata: {},
    ...asked,
  };
}

function responseUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: SegmentUsage) {
  const tokens = inputTokens + cacheReadTokens + cacheWriteTokens;
  return {
    input_tokens: tokens,
    input_tokens_details: { cached_tokens: cacheReadTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: tokens + outputTokens,
  };
}

function messageItem(id: string, text: string, status: string) {
  return {
    type: 'message',
    id: `msg_${id.slice('resp_'.length)}`,
    status,
    role: 'assistant',
    content: [textPart(text)],
  };
}

function textPart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

function callItem(id: string, at: number, { id: callId, ...call }: ChatToolCall, status: string) {
  const [type, prefix] = 'input' in call ? (['custom_tool_call', 'ctc'] as const) : (['function_call', 'fc'] as const);
  return { type, id: `${prefix}_${id.slice('resp_'.length)}_${at + 1}`, call_id: callId, ...call, status };
}

/** An event; `sequence_number` counts from 0. */
export type ResponseEvent = { type: string; sequence_number: number } & Record<string, unknown>;

/** Makes the events of one response, in the order in which they are sent. */
export class ResponseEvents {
  readonly #identity: ResponseIdentity;
  #next = 0;
  #text = '';
  #isSpeaking = false;

  constructor(identity: ResponseIdentity) {
    this.#identity = identity;
  }

  /** The first ones, unless they were made. */
  begin(): ResponseEvent[] {
    if (this.#next > 0) return [];
    const response = this.#response({ status: 'in_progress', text: '', calls: [], usage: null, error: null });
    return [this.#event('response.created', { response }), this.#event('response.in_progress', { response })];
  }

  text(delta: string): ResponseEvent[] {
    const begun = [...this.begin(), ...this.#speak()];
    this.#text += delta;
    return [...begun, this.#event('response.output_text.delta', { ...this.#place(), delta, logprobs: [] })];
  }

  /** The last ones of an answer. */
  end(state: ResponseState): ResponseEvent[] {
    const begun = this.begin();
    const spoken = this.#isSpeaking ? this.#finishText(state.status === 'incomplete' ? 'incomplete' : 'completed') : [];
    const offset = this.#isSpeaking ? 1 : 0;
    const called = state.calls.flatMap((call, at) => this.#call(call, at, offset + at));
    return [
      ...begun,
      ...spoken,
      ...called,
      this.#event(`response.${state.status === 'cancelled' ? 'failed' : state.status}`, {
        response: this.#response(state),
      }),
    ];
  }

  #speak(): ResponseEvent[] {
    if (this.#isSpeaking) return [];
    this.#isSpeaking = true;
    const item = { ...messageItem(this.#identity.id, '', 'in_progress'), content: [] };
    return [
      this.#event('response.output_item.added', { output_index: 0, item }),
      this.#event('response.content_part.added', { ...this.#place(), part: textPart('') }),
    ];
  }

  #finishText(status: string): ResponseEvent[] {
    const text = this.#text;
    return [
      this.#event('response.output_text.done', { ...this.#place(), text, logprobs: [] }),
      this.#event('response.content_part.done', { ...this.#place(), part: textPart(text) }),
      this.#event('response.output_item.done', { output_index: 0, item: messageItem(this.#identity.id, text, status) }),
    ];
  }

  #call(call: ChatToolCall, at: number, outputIndex: number): ResponseEvent[] {
    const { id } = this.#identity;
    const item = callItem(id, at, call, 'completed');
    const place = { item_id: item.id, output_index: outputIndex };
    const begun = { ...item, ...('input' in call ? { input: '' } : { arguments: '' }), status: 'in_progress' };
    return [
      this.#event('response.output_item.added', { output_index: outputIndex, item: begun }),
      ...('input' in call
        ? [
            this.#event('response.custom_tool_call_input.delta', { ...place, delta: call.input }),
            this.#event('response.custom_tool_call_input.done', { ...place, input: call.input }),
          ]
        : [
            this.#event('response.function_call_arguments.delta', { ...place, delta: call.arguments }),
            this.#event('response.function_call_arguments.done', {
              ...place,
              name: call.name,
              arguments: call.arguments,
            }),
          ]),
      this.#event('response.output_item.done', { output_index: outputIndex, item }),
    ];
  }

  #place() {
    return { item_id: `msg_${this.#identity.id.slice('resp_'.length)}`, output_index: 0, content_index: 0 };
  }

  #response(state: ResponseState): object {
    return responseObject(this.#identity, state);
  }

  #event(type: string, facts: Record<string, unknown>): ResponseEvent {
    const event = { type, sequence_number: this.#next, ...facts };
    this.#next += 1;
    return event;
  }
}
