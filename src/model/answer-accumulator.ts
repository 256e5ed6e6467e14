// Folds the events of one streamed answer into a complete answer. An answer exists only after `message_stop`; until then
// nothing of it may be kept (G12). Pure but for the callback: no clock, no network.
import type { ContentBlock } from '../core/content.ts';
import type { ModelAnswer, StopReason, Usage } from '../core/model-request.ts';
import { ModelError } from './model.ts';

const STOP_REASONS: ReadonlySet<string> = new Set<StopReason>([
  'end_turn',
  'tool_use',
  'max_tokens',
  'stop_sequence',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]);

interface WireUsage {
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_input_tokens?: number | null;
  cache_creation_input_tokens?: number | null;
}

/** The events of the Messages API as far as they matter here; other types fall through. */
interface StreamEvent {
  type: string;
  index?: number;
  message?: { id: string; model: string; usage?: WireUsage };
  content_block?: {
    type: string;
    id?: string;
    name?: string;
    input?: unknown;
    text?: string;
    thinking?: string;
    signature?: string;
    data?: string;
  };
  delta?: {
    /** Absent in a message_delta. */
    type: string;
    text?: string;
    partial_json?: string;
    thinking?: string;
    signature?: string;
    stop_reason?: string | null;
  };
  usage?: WireUsage;
  error?: { type?: string; message?: string; details?: { error_code?: string } | null };
}

/** A block while it grows. `text` collects what its deltas bring: the text, the thinking, or the JSON of the tool's input. */
interface GrowingBlock {
  type: string;
  text: string;
  signature: string;
  id: string;
  name: string;
  /** The input that came with the start of the block, used when no delta follows. */
  input: unknown;
  /** Whether any of the text was reported; leading white space waits for the first letter, because a blank block is dropped. */
  isReported: boolean;
}

/** Collects one answer. */
export class AnswerAccumulator {
  readonly #onChunk: (textDelta: string) => void;
  readonly #blocks: GrowingBlock[] = [];
  readonly #usage: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  #id: string | null = null;
  #model = '';
  #stopReason: string | null = null;
  #isTextReported = false;
  #isStopped = false;

  /** `onChunk` is called once per event, with the text that it adds to the reply. */
  constructor(onChunk: (textDelta: string) => void) {
    this.#onChunk = onChunk;
  }

  /** Whether `message_stop` was seen: the answer is complete. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Takes the data of the next event. Throws `ModelError`: `malformed_stream`, or what an error event says. */
  take(data: string): void {
    const event = parseEvent(data);
    this.#onChunk(this.#apply(event));
  }

  /** The complete answer; to be asked for only once `isStopped`. Throws `ModelError` when the events make no answer. */
  finish(): ModelAnswer {
    if (!this.#isStopped || this.#id === null || this.#stopReason === null) {
      throw malformed('The stream ended without a message or a stop reason.');
    }
    const malformedInputs: Record<string, string> = {};
    const content: ContentBlock[] = [];
    for (const block of this.#blocks) {
      const complete = finishBlock(block, malformedInputs);
      if (complete) content.push(complete);
    }
    const hasCalls = content.some((block) => block.type === 'tool_use');
    return {
      id: this.#id,
      model: this.#model,
      content,
      stopReason: toStopReason(this.#stopReason, hasCalls),
      usage: this.#usage,
      ...(Object.keys(malformedInputs).length > 0 ? { malformedInputs } : undefined),
    };
  }

  /** Applies an event and returns the text that it adds to the reply. */
  #apply(event: StreamEvent): string {
    switch (event.type) {
      case 'content_block_delta':
        return this.#grow(event);
      case 'message_start':
        if (typeof event.message?.id !== 'string' || this.#id !== null)
          throw malformed('A message_start without a message, or a second one.');
        this.#id = event.message.id;
        this.#model = event.message.model;
        this.#count(event.message.usage);
        return '';
      case 'content_block_start':
        return this.#start(event);
      case 'message_delta':
        this.#stopReason = event.delta?.stop_reason ?? this.#stopReason;
        this.#count(event.usage);
        return '';
      case 'message_stop':
        this.#isStopped = true;
        return '';
      case 'error':
        throw new ModelError({
          type: event.error?.type ?? 'api_error',
          status: null,
          retryAfterMs: null,
          message: event.error?.message ?? 'The provider ended the stream with an error.',
          errorCode: event.error?.details?.error_code ?? null,
        });
      default:
        // ping, content_block_stop, and what the provider may add.
        return '';
    }
  }

  #start(event: StreamEvent): string {
    const { content_block: start, index } = event;
    if (!start || this.#id === null || index !== this.#blocks.length) throw malformed('A block starts out of order.');
    const block: GrowingBlock = {
      type: start.type,
      text: start.thinking ?? start.data ?? '',
      signature: start.signature ?? '',
      id: start.id ?? '',
      name: start.name ?? '',
      input: start.input,
      isReported: false,
    };
    this.#blocks.push(block);
    return start.text ? this.#addText(block, start.text) : '';
  }

  #grow(event: StreamEvent): string {
    const { delta } = event;
    const block = this.#blocks[event.index ?? -1];
    if (!block || !delta) throw malformed('A delta without its block.');
    switch (delta.type) {
      case 'text_delta':
        return this.#addText(block, delta.text ?? '');
      case 'input_json_delta':
        block.text += delta.partial_json ?? '';
        return '';
      case 'thinking_delta':
        block.text += delta.thinking ?? '';
        return '';
      case 'signature_delta':
        block.signature += delta.signature ?? '';
        return '';
      default:
        return '';
    }
  }

  /** Adds to a text block; returns what the reply gains: a newline before a further block, as `textOf` joins them. */
  #addText(block: GrowingBlock, text: string): string {
    block.text += text;
    if (block.isReported) return text;
    if (isBlank(block.text)) return '';
    block.isReported = true;
    const joint = this.#isTextReported ? '\n' : '';
    this.#isTextReported = true;
    return joint + block.text;
  }

  /** Usage figures are running totals: a later one replaces an earlier one. */
  #count(usage: WireUsage | undefined): void {
    if (!usage) return;
    this.#usage.inputTokens = usage.input_tokens ?? this.#usage.inputTokens;
    this.#usage.outputTokens = usage.output_tokens ?? this.#usage.outputTokens;
    this.#usage.cacheReadTokens = usage.cache_read_input_tokens ?? this.#usage.cacheReadTokens;
    this.#usage.cacheWriteTokens = usage.cache_creation_input_tokens ?? this.#usage.cacheWriteTokens;
  }
}

function parseEvent(data: string): StreamEvent {
  let event: unknown;
  try {
    event = JSON.parse(data);
  } catch (cause) {
    throw malformed(`An event is no JSON: ${data.slice(0, 200)}`, cause);
  }
  if (typeof event !== 'object' || event === null || !('type' in event) || typeof event.type !== 'string') {
    throw malformed(`An event has no type: ${data.slice(0, 200)}`);
  }
  // The provider's promise; every field that is used is looked at again where it is used.
  return event as StreamEvent;
}

function finishBlock(block: GrowingBlock, malformedInputs: Record<string, string>): ContentBlock | null {
  switch (block.type) {
    case 'text':
      // The provider sometimes sends blank texts, and refuses them when they are sent back.
      return isBlank(block.text) ? null : { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: block.signature };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.text };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: parseInput(block, malformedInputs) };
    default:
      // Server-side tools are never asked for; a transcript has no place for their blocks.
      return null;
  }
}

/** The arguments of a call as a JSON object; `{}` and a note in `malformedInputs` when they are none. */
function parseInput(block: GrowingBlock, malformedInputs: Record<string, string>): unknown {
  if (block.text === '') return isObject(block.input) ? block.input : {};
  try {
    const input: unknown = JSON.parse(block.text);
    if (isObject(input)) return input;
  } catch {
    // Noted below with the others: the model gets an error result and can correct itself.
  }
  malformedInputs[block.id] = block.text;
  return {};
}

function toStopReason(wire: string, hasCalls: boolean): StopReason {
  if (STOP_REASONS.has(wire)) return wire as StopReason;
  return hasCalls ? 'tool_use' : 'end_turn';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}

function malformed(message: string, cause?: unknown): ModelError {
  return new ModelError({ type: 'malformed_stream', status: null, retryAfterMs: null, message, cause });
}
