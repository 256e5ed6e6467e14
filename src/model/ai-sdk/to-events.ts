// The parts of an answer as the AI SDK's providers stream them become the events of the Messages
// API, which the reducer takes. Pure: it uses no clock and no network.
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import { given, isObject } from '../../core/json.ts';
import { classifyStopReason, readStopReason } from '../stream/stop-reasons.ts';
import { cut, StreamFault, type BlockStart, type StreamEvent } from '../stream/stream-event.ts';

/** A block that was begun. */
interface BlockSlot {
  index: number;
  /** The arguments of a call so far. */
  json: string;
  /** What the provider needs back with it, merged from all of its parts; null: nothing. */
  metadata: Record<string, unknown> | null;
}

/** Whose blocks they are. */
interface Author {
  provider: string;
  model: string;
}

/** Turns the parts of one answer into events, each as it comes. */
export class PartReader {
  readonly #author: Author;
  readonly #isUncached: boolean;
  readonly #blocks = new Map<string, BlockSlot>();
  #isBegun = false;
  /** What the current part has become so far. */
  #events: StreamEvent[] = [];
  #count = 0;

  /**
   * `isUncached`: the server leaves what it has read from its cache out of the tokens of the
   * prompt.
   */
  constructor(author: Author, { isUncached = false }: { isUncached?: boolean } = {}) {
    this.#author = author;
    this.#isUncached = isUncached;
  }

  /**
   * The events of the next part. Throws `StreamFault` when the answer ends without being complete;
   * a part `error` is the caller's.
   */
  read(part: LanguageModelV4StreamPart): StreamEvent[] {
    this.#events = [];
    this.#take(part);
    return this.#events;
  }

  // A transcript has no place for the other parts: warnings, sources, what tools of the provider
  // did, raw chunks.
  #take(part: LanguageModelV4StreamPart): void {
    if (part.type === 'response-metadata') this.#begin(part.id, part.modelId);
    else if (isGrowth(part)) this.#grow(part);
    else if (part.type === 'tool-input-start') this.#note(this.#call(part.id, part.toolName), part.providerMetadata);
    else if (part.type === 'tool-input-delta') this.#call(part.id, '').json += part.delta;
    else if (part.type === 'tool-call' && part.providerExecuted !== true) {
      const call = this.#call(part.toolCallId, part.toolName);
      // All of them, also where a part of them was lost.
      call.json = part.input || call.json;
      this.#note(call, part.providerMetadata);
    } else if (part.type === 'finish') {
      this.#begin();
      for (const { index, json } of this.#blocks.values()) {
        if (json === '') continue;
        this.#events.push({
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json: json },
        });
      }
      this.#events.push(...endOf(part, this.#isUncached));
    }
  }

  #begin(id = '', model = ''): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#events.push({ type: 'message_start', message: { id, model: model || this.#author.model } });
  }

  #start(key: string, block: BlockStart): BlockSlot {
    this.#begin();
    const begun: BlockSlot = { index: this.#count, json: '', metadata: null };
    this.#count += 1;
    this.#blocks.set(key, begun);
    this.#events.push({ type: 'content_block_start', index: begun.index, content_block: block });
    return begun;
  }

  /**
   * Adds to a text or a thought. A text that is not the last block any more continues in a new one:
   * what was said is shown already.
   */
  #grow(part: Growth): void {
    const type = part.type.startsWith('text') ? 'text' : 'thinking';
    const key = `${type} ${part.id}`;
    const known = this.#blocks.get(key);
    const isOpen = known !== undefined && (type === 'thinking' || known.index === this.#count - 1);
    const isAddition = !part.type.endsWith('end');
    const begun = known !== undefined && (isOpen || !isAddition) ? known : this.#start(key, { type, [type]: '' });
    if ('delta' in part) {
      const delta =
        type === 'text' ? { type: 'text_delta', text: part.delta } : { type: 'thinking_delta', thinking: part.delta };
      this.#events.push({ type: 'content_block_delta', index: begun.index, delta });
    }
    // Every thought has an origin: without one it would be of no model.
    this.#note(begun, part.providerMetadata ?? (type === 'thinking' && begun.metadata === null ? {} : undefined));
  }

  #call(id: string, name: string): BlockSlot {
    return this.#blocks.get(`call ${id}`) ?? this.#start(`call ${id}`, { type: 'tool_use', id, name });
  }

  #note(begun: BlockSlot, metadata: unknown): void {
    if (!isObject(metadata)) return;
    begun.metadata = mergeMetadata(begun.metadata, metadata);
    const delta = { type: 'origin_delta', origin: { ...this.#author, metadata: begun.metadata } };
    this.#events.push({ type: 'content_block_delta', index: begun.index, delta });
  }
}

type Growth = Extract<LanguageModelV4StreamPart, { type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}` }>;

function isGrowth(part: LanguageModelV4StreamPart): part is Growth {
  return /^(?:text|reasoning)-(?:start|delta|end)$/.test(part.type);
}

/** The metadata of a provider come in several parts; the later value of a field counts. */
function mergeMetadata(before: Record<string, unknown> | null, next: Record<string, unknown>): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...before };
  for (const [name, fields] of Object.entries(next)) {
    const earlier = merged[name];
    merged[name] = isObject(earlier) && isObject(fields) ? { ...earlier, ...fields } : fields;
  }
  return merged;
}

type Finish = Extract<LanguageModelV4StreamPart, { type: 'finish' }>;

function endOf({ finishReason, usage }: Finish, isUncached: boolean): StreamEvent[] {
  return [
    { type: 'message_delta', delta: { stop_reason: toStopReason(finishReason) }, usage: toUsage(usage, isUncached) },
    { type: 'message_stop' },
  ];
}

function toStopReason({ unified, raw }: LanguageModelV4FinishReason): string {
  switch (unified) {
    case 'stop':
      return 'end_turn';
    case 'length':
      return 'max_tokens';
    case 'tool-calls':
      // Also what a package makes of a reason that it does not know, when there was a call.
      return raw !== undefined && readStopReason(raw) === null ? raw : 'tool_use';
    case 'content-filter':
      // The provider's word, if it is known as one for a filter.
      return raw !== undefined && classifyStopReason(raw) === 'sensitive' ? raw : 'content_filter';
    case 'other':
      // Without the provider's word, the package has seen no end.
      if (raw === undefined) throw cut();
      return raw;
    case 'interrupted':
      throw cut();
    case 'error':
      throw new StreamFault('malformed_stream', `The answer ended with an error (${raw ?? 'without a reason'}).`);
    default:
      return unified satisfies never;
  }
}

/**
 * The tokens of a prompt. A server that has read more from its cache than it counts does not count
 * what is in the cache.
 */
export function readPromptTokens(
  { inputTokens }: LanguageModelV4Usage,
  isUncached: boolean,
): LanguageModelV4Usage['inputTokens'] {
  const { total, cacheRead = 0 } = inputTokens;
  if (total === undefined || (!isUncached && cacheRead <= total)) return inputTokens;
  return { ...inputTokens, total: total + cacheRead, noCache: total };
}

/**
 * The figures by the names of the Messages API, whose input excludes what was read from the cache
 * or written to it.
 */
function toUsage(usage: LanguageModelV4Usage, isUncached: boolean): Record<string, number> {
  const { total, noCache, cacheRead = 0, cacheWrite = 0 } = readPromptTokens(usage, isUncached);
  return given({
    input_tokens: noCache ?? (total === undefined ? undefined : total - cacheRead - cacheWrite),
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: usage.outputTokens.total,
  });
}
