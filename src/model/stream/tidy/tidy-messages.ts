// The events of the Messages API, as gateways and other servers with this API write them. Blocks
// are counted here: servers repeat their numbers, leave them out, or send a part of a block that
// they have not started.
import { given, isObject } from '../../../core/json.ts';
import { eventsOfBody, type BlockStart, type StreamEvent } from '../stream-event.ts';
import { argumentsIn, fieldOf, placeIn, reasonIn, textIn, type Tidier } from './tidier.ts';

/** A block that was started. */
interface Started {
  index: number;
  type: string;
  /** True once it has a part, or has ended. */
  isUsed: boolean;
}

const FIELDS = {
  text_delta: 'text',
  input_json_delta: 'partial_json',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
} as const;
const BLOCKS = {
  text_delta: 'text',
  input_json_delta: 'tool_use',
  thinking_delta: 'thinking',
  signature_delta: 'thinking',
} as const;

type DeltaType = keyof typeof FIELDS;

export class MessagesTidier implements Tidier {
  readonly isComplete = false;
  readonly #blocks = new Map<number, Started>();
  #count = 0;
  #last = 0;
  #isBegun = false;

  take(event: Record<string, unknown>): StreamEvent[] {
    const { type } = event;
    switch (type) {
      case 'message':
        // A body that was not streamed.
        return eventsOfBody(event).flatMap((one) => this.take({ ...one }));
      case 'message_start':
        return this.#begin(event['message']);
      case 'content_block_start':
        return this.#start(event);
      case 'content_block_delta':
        return this.#grow(event);
      case 'content_block_stop': {
        const block = this.#blocks.get(placeIn(event['index']) ?? this.#last);
        if (block === undefined) return [];
        block.isUsed = true;
        return [{ type, index: block.index }];
      }
      case 'message_delta': {
        const stopReason = reasonIn(fieldOf(event['delta'], 'stop_reason'));
        return [...this.#begin(), { type, delta: { stop_reason: stopReason }, usage: event['usage'] }];
      }
      case 'message_stop':
        return [{ type }];
      case 'error':
        return [{ type, error: errorOf(event['error']) }];
      default:
        return [];
    }
  }

  end(): StreamEvent[] {
    return [];
  }

  #begin(message?: unknown): StreamEvent[] {
    if (this.#isBegun) return [];
    this.#isBegun = true;
    const id = textIn(fieldOf(message, 'id')) ?? '';
    const model = textIn(fieldOf(message, 'model')) ?? '';
    return [{ type: 'message_start', message: { id, model, usage: fieldOf(message, 'usage') } }];
  }

  #start({ index, content_block: sent }: Record<string, unknown>): StreamEvent[] {
    if (!isObject(sent)) return [];
    const type = typeof sent['type'] === 'string' ? sent['type'] : 'name' in sent ? 'tool_use' : 'text';
    const place = placeIn(index) ?? this.#count;
    const known = this.#blocks.get(place);
    // Some servers send a start twice.
    if (known !== undefined && !known.isUsed && known.type === type) return [];
    const start = {
      type,
      ...(type === 'tool_use' ? { id: textIn(sent['id']), name: sent['name'], input: sent['input'] } : {}),
    };
    const texts = Object.fromEntries(
      ['text', 'thinking', 'signature', 'data'].map((name) => [name, textIn(sent[name])]),
    );
    return this.#open(place, { ...start, ...given(texts) });
  }

  #open(place: number, start: BlockStart): StreamEvent[] {
    const begin = this.#begin();
    const block = { index: this.#count, type: start.type, isUsed: false };
    this.#count += 1;
    this.#last = place;
    this.#blocks.set(place, block);
    return [...begin, { type: 'content_block_start', index: block.index, content_block: start }];
  }

  #grow({ index, delta }: Record<string, unknown>): StreamEvent[] {
    if (!isObject(delta)) return [];
    const types = Object.keys(FIELDS) as DeltaType[];
    const type = types.find((one) => one === delta['type']) ?? types.find((one) => FIELDS[one] in delta);
    if (type === undefined) return [];
    const field = FIELDS[type];
    const text = type === 'input_json_delta' ? argumentsIn(delta[field]) : textIn(delta[field]);
    if (text === undefined) return [];
    const place = placeIn(index) ?? this.#last;
    const known = this.#blocks.get(place);
    // A transcript has no place for what the provider's own tools do.
    const isOther = known !== undefined && !Object.values<string>(BLOCKS).includes(known.type);
    if (isOther && type !== 'text_delta') return [];
    // Text cannot return to an earlier block.
    const fits = known?.type === BLOCKS[type] && (type !== 'text_delta' || known.index === this.#count - 1);
    const opened = fits ? [] : this.#open(place, { type: BLOCKS[type] });
    const block = this.#blocks.get(place);
    if (block === undefined) return [];
    block.isUsed = true;
    return [...opened, { type: 'content_block_delta', index: block.index, delta: { type, [field]: text } }];
  }
}

function errorOf(error: unknown): NonNullable<StreamEvent['error']> {
  const code = textIn(fieldOf(fieldOf(error, 'details'), 'error_code'));
  return given({
    type: textIn(fieldOf(error, 'type')),
    message: textIn(fieldOf(error, 'message')) ?? textIn(error),
    details: code === undefined ? undefined : { error_code: code },
  });
}
