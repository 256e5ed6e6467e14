// The events of Responses, of which the packages of OpenAI and of xAI each read another form. An
// item is known by its place in the output: servers change ids between events, or send none. A body
// that was not streamed is the event that ends a stream.
import { given, isObject } from '../../../core/json.ts';
import {
  argumentsIn,
  fieldOf,
  figureIn,
  figuresIn,
  isErrorEvent,
  objectsIn,
  placeIn,
  reasonIn,
  textIn,
  wordIn,
  type Tidier,
} from './tidier.ts';

/** How a response ended that is not complete, as its state says it. */
const UNFINISHED: readonly string[] = ['incomplete', 'failed', 'cancelled'];

/** What is known of an item. */
interface Item {
  id: string;
  callId: string | undefined;
  name: string | undefined;
  /** Its text so far. */
  text: string;
}

export class ResponsesTidier implements Tidier {
  readonly #isXai: boolean;
  readonly #items = new Map<number, Item>();
  #hasRefusal = false;
  #isComplete = false;

  constructor({ isXai }: { isXai: boolean }) {
    this.#isXai = isXai;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  take(event: Record<string, unknown>): object[] {
    const { type } = event;
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        return [{ type, response: headOf(event['response']) }];
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#text(this.#placeOf(event), type, textIn(event['delta']) ?? '');
      case 'response.reasoning_summary_part.added':
      case 'response.reasoning_summary_part.done':
        return [{ ...this.#thought(event, type), part: { type: 'summary_text', text: '' } }];
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return [{ ...this.#thought(event, type), delta: textIn(event['delta']) ?? '' }];
      case 'response.function_call_arguments.delta': {
        const place = this.#placeOf(event);
        const delta = argumentsIn(event['delta']) ?? '';
        return [{ type, item_id: this.#item(place).id, output_index: place, delta }];
      }
      case 'response.output_item.added':
      case 'response.output_item.done':
        return isObject(event['item']) ? this.#change(type, this.#placeOf(event), event['item']) : [];
      case 'response.completed':
      case 'response.incomplete':
      case 'response.done':
        return this.#finish(type, isObject(event['response']) ? event['response'] : {});
      case 'response.failed':
        this.#isComplete = true;
        return [{ type, sequence_number: 0, response: failureOf(event['response']) }];
      default:
        return this.#takeOther(event);
    }
  }

  /** The end is an event of its own. */
  end(): object[] {
    return [];
  }

  #takeOther(event: Record<string, unknown>): object[] {
    if (event['object'] === 'response' && typeof event['type'] !== 'string')
      return this.take({ type: isErrorEvent(event) ? 'response.failed' : 'response.completed', response: event });
    // The package reports an event of another API by its name.
    return isErrorEvent(event) || Array.isArray(event['choices']) ? [event] : [];
  }

  /**
   * The place of the item of an event that says none: a new one if it begins, else that of its id
   * or of the last one.
   */
  #placeOf({ type, output_index: place, item_id: itemId, item }: Record<string, unknown>): number {
    const id = textIn(itemId) ?? textIn(fieldOf(item, 'id'));
    const ofId = [...this.#items].findLast(([, one]) => one.id === id)?.[0];
    const last = Math.max(-1, ...this.#items.keys());
    return placeIn(place) ?? ofId ?? (type === 'response.output_item.added' ? last + 1 : Math.max(0, last));
  }

  #item(place: number, from?: Record<string, unknown>): Item {
    const known = this.#items.get(place);
    const item: Item = {
      id: known?.id ?? wordIn(from?.['id']) ?? `item_${place}`,
      callId: known?.callId ?? wordIn(from?.['call_id']),
      name: known?.name ?? wordIn(from?.['name']),
      text: known?.text ?? '',
    };
    this.#items.set(place, item);
    return item;
  }

  #text(place: number, type: string, delta: string): object[] {
    if (delta === '') return [];
    const item = this.#item(place);
    item.text += delta;
    this.#hasRefusal ||= type === 'response.refusal.delta';
    // The package of xAI knows no refusals.
    const said = this.#isXai ? 'response.output_text.delta' : type;
    return [{ type: said, item_id: item.id, output_index: place, content_index: 0, delta }];
  }

  #thought(event: Record<string, unknown>, type: string): object {
    const place = this.#placeOf(event);
    const summary = placeIn(event['summary_index']) ?? 0;
    return { type, item_id: this.#item(place).id, output_index: place, summary_index: summary, content_index: 0 };
  }

  /** Items that have a place in a transcript; what tools of the provider do has none. */
  #change(type: string, place: number, from: Record<string, unknown>): object[] {
    const item = this.#item(place, from);
    const { id, name } = item;
    // A call is known by it: another one in a later event would be another call.
    const callId = (item.callId ??= id);
    const common = { id, status: 'completed' };
    const change = (item: object): object => ({ type, output_index: place, item: { ...common, ...item } });
    switch (from['type']) {
      case 'message': {
        const { phase } = from;
        const message = {
          type: 'message',
          role: 'assistant',
          content: [],
          ...(phase === 'commentary' || phase === 'final_answer' ? { phase } : {}),
        };
        return type.endsWith('done') ? [...this.#rest(place, from['content']), change(message)] : [change(message)];
      }
      case 'reasoning': {
        const { encrypted_content: sealed } = from;
        return [
          change({ type: 'reasoning', summary: [], encrypted_content: typeof sealed === 'string' ? sealed : null }),
        ];
      }
      case 'function_call': {
        const text = argumentsIn(from['arguments']) ?? '';
        return [change({ type: 'function_call', call_id: callId, name: name ?? '', arguments: text })];
      }
      default:
        return [];
    }
  }

  /** What a message has more than was streamed of it. */
  #rest(place: number, content: unknown): object[] {
    const { text: said } = this.#item(place);
    const parts = objectsIn(content).map((part) => textIn(part['text']) ?? textIn(part['refusal']) ?? '');
    const whole = parts.join('');
    if (!whole.startsWith(said)) return [];
    const isRefusal = objectsIn(content).some((part) => part['type'] === 'refusal');
    const type = isRefusal ? 'response.refusal.delta' : 'response.output_text.delta';
    return this.#text(place, type, whole.slice(said.length));
  }

  #xaiRefusal(): string | null {
    return this.#isXai && this.#hasRefusal ? 'content_filter' : null;
  }

  #finish(type: string, response: Record<string, unknown>): object[] {
    this.#isComplete = true;
    const output = this.#items.size > 0 ? [] : objectsIn(response['output']);
    const items = output.flatMap((item, place) =>
      ['response.output_item.added', 'response.output_item.done'].flatMap((one) => this.#change(one, place, item)),
    );
    const { status } = response;
    const said = reasonIn(fieldOf(response['incomplete_details'], 'reason'));
    const isUnfinished = typeof status === 'string' && UNFINISHED.includes(status);
    const reason = isUnfinished
      ? said || status
      : type === 'response.incomplete'
        ? said || 'incomplete'
        : this.#xaiRefusal();
    const usage = given({ usage: toUsage(response['usage']) });
    if (reason !== null)
      return [...items, { type: 'response.incomplete', response: { incomplete_details: { reason }, ...usage } }];
    const head = { ...headOf(response), status: 'completed' };
    return [...items, { type: 'response.completed', response: { ...head, ...usage } }];
  }
}

function headOf(response: unknown): object {
  const of = (name: string) => fieldOf(response, name);
  const id = textIn(of('id')) ?? '';
  return {
    id,
    model: textIn(of('model')) ?? '',
    created_at: figureIn(of('created_at')) ?? 0,
    object: 'response',
    output: [],
  };
}

function failureOf(response: unknown): object {
  const error = fieldOf(response, 'error');
  const reason = reasonIn(fieldOf(fieldOf(response, 'incomplete_details'), 'reason'));
  const message = textIn(fieldOf(error, 'message')) ?? textIn(error) ?? JSON.stringify(error ?? null);
  return {
    ...(error === undefined || error === null
      ? {}
      : { error: { ...given({ code: textIn(fieldOf(error, 'code')) }), message } }),
    ...(reason ? { incomplete_details: { reason } } : {}),
    ...given({ usage: toUsage(fieldOf(response, 'usage')) }),
  };
}

/** Both packages take only figures that have both parts. */
function toUsage(usage: unknown): object | undefined {
  const figures = figuresIn(usage, ['input_tokens', 'output_tokens', 'total_tokens']);
  if (figures === undefined) return undefined;
  const cached = figuresIn(fieldOf(usage, 'input_tokens_details'), ['cached_tokens', 'cache_write_tokens']);
  const details = figuresIn(fieldOf(usage, 'output_tokens_details'), ['reasoning_tokens']);
  const parts = given({ input_tokens_details: cached, output_tokens_details: details });
  return { input_tokens: 0, output_tokens: 0, ...figures, ...parts };
}
