// The chunks of Chat Completions, as many servers write them. A body that was not streamed is one
// chunk, with `message` in place of `delta`.
import { given, isObject } from '../../../core/json.ts';
import { readStopReason } from '../stop-reasons.ts';
import { ThinkTags } from './think-tags.ts';
import {
  argumentsIn,
  fieldOf,
  figuresIn,
  isErrorEvent,
  objectsIn,
  placeIn,
  reasonIn,
  textIn,
  wordIn,
  type Tidier,
} from './tidier.ts';

interface Delta {
  content?: string;
  reasoning_content?: string;
  refusal?: string;
  tool_calls?: object[];
}

/**
 * What is known of a call. Without a name it is held back: the packages take no call without one.
 */
interface KnownCall {
  id: string | undefined;
  isNamed: boolean;
  /** The arguments that have come before its name. */
  held: string;
  signature: string | undefined;
}

export class ChatTidier implements Tidier {
  readonly isComplete = false;
  /** Null: tags are text. */
  readonly #tags: ThinkTags | null;
  /** The calls so far, by their places. */
  readonly #calls = new Map<number, KnownCall>();
  /** Calls that came with all of their arguments in one event, with their ids. */
  readonly #whole = new Set<string>();
  /** The last reason; null: none. */
  #reason: string | null = null;
  /** A reason that ends the answer only if the server says that it has ended; null: none. */
  #doubtful: string | null = null;

  constructor({ hasThinkTags }: { hasThinkTags: boolean }) {
    this.#tags = hasThinkTags ? new ThinkTags() : null;
  }

  take(chunk: Record<string, unknown>): object[] {
    if (isErrorEvent(chunk)) return [chunk['object'] === 'error' ? { error: chunk } : chunk];
    const head = given({ id: textIn(chunk['id']), model: textIn(chunk['model']) });
    const usage = toUsage(chunk['usage']);
    const [choice] = objectsIn(chunk['choices']);
    if (choice === undefined) {
      if (usage === undefined) return [];
      // Only the end of an answer has figures and nothing else.
      return [...this.end(true), { ...head, choices: [], usage }];
    }
    const said = [choice['delta'], choice['message']].find(isObject);
    const delta = this.#delta(said ?? { content: choice['delta'] ?? choice['text'] });
    const reason = this.#reasonOf(choice, said);
    const choices = [{ index: 0, delta, ...(reason === null ? {} : { finish_reason: reason }) }];
    return [{ ...head, choices, ...given({ usage }) }];
  }

  end(isSaid: boolean): object[] {
    const text = this.#tags?.release() ?? '';
    const unnamed = [...this.#calls].filter(([, { isNamed }]) => !isNamed);
    const calls = unnamed.map(([index, { held, ...call }]) => {
      this.#calls.set(index, { ...call, isNamed: true, held: '' });
      // The id may hold the name.
      return toCall({ index, ...call, name: call.id ?? 'unnamed_tool', text: held });
    });
    const delta: Delta = given({
      content: text === '' ? undefined : text,
      tool_calls: calls.length === 0 ? undefined : calls,
    });
    const reason = isSaid && this.#reason === null ? this.#doubtful : null;
    this.#reason ??= reason;
    if (Object.keys(delta).length === 0 && reason === null) return [];
    return [{ choices: [{ index: 0, delta, ...(reason === null ? {} : { finish_reason: reason }) }] }];
  }

  #delta(from: Record<string, unknown>): Delta {
    const said = textsIn(from['content']);
    const thought = said.thought + (textIn(from['reasoning_content']) ?? textIn(from['reasoning']) ?? '');
    const calls = [...objectsIn(from['tool_calls']), ...objectsIn(from['function_call'])];
    const sorted = this.#sort(said.text, thought !== '' || calls.length > 0);
    const toolCalls = calls.flatMap((call) => this.#call(call));
    const { refusal } = from;
    return given({
      content: sorted.text || undefined,
      reasoning_content: thought + sorted.thought || undefined,
      refusal: typeof refusal === 'string' && refusal !== '' ? refusal : undefined,
      tool_calls: toolCalls.length === 0 ? undefined : toolCalls,
    });
  }

  /** `isPast`: the server sends thoughts in a field of their own, or the text has ended. */
  #sort(text: string, isPast: boolean): { thought: string; text: string } {
    const tags = this.#tags;
    if (tags === null) return { thought: '', text };
    return isPast ? { thought: '', text: tags.release() + text } : tags.push(text);
  }

  #call(call: Record<string, unknown>): object[] {
    // Some write name and arguments without the object around them.
    const called = isObject(call['function']) ? call['function'] : call;
    const id = wordIn(call['id']);
    const name = wordIn(called['name']);
    const text = argumentsIn(called['arguments']);
    const index = placeIn(call['index']) ?? this.#placeOf(id, name);
    const known = this.#calls.get(index);
    const whole = JSON.stringify([id, name, text]);
    // What is sent twice would run twice.
    if (this.#whole.has(whole)) return [];
    if (known === undefined && id !== undefined && name !== undefined && isWhole(text)) this.#whole.add(whole);
    const { held = '', isNamed = false } = known ?? {};
    const isNameless = name === undefined && !isNamed;
    const signature =
      textIn(fieldOf(fieldOf(call['extra_content'], 'google'), 'thought_signature')) ?? known?.signature;
    this.#calls.set(index, {
      id: known?.id ?? id,
      isNamed: !isNameless,
      held: isNameless ? held + (text ?? '') : '',
      signature,
    });
    if (isNameless) return [];
    return [
      toCall({ index, id: id ?? (held === '' ? undefined : known?.id), name, text: held + (text ?? ''), signature }),
    ];
  }

  /**
   * The place of a call that says none: a new one if it begins, else that of its id or of the last
   * one.
   */
  #placeOf(id: string | undefined, name: string | undefined): number {
    const places = [...this.#calls.keys()];
    const known = places.findLast((place) => id !== undefined && this.#calls.get(place)?.id === id);
    if (known !== undefined) return known;
    const last = Math.max(-1, ...places);
    return name === undefined && id === undefined ? Math.max(0, last) : last + 1;
  }

  /**
   * A reason that is empty or not known ends an answer in an event without anything else, or before
   * the end: some servers send it in each.
   */
  #reasonOf(choice: Record<string, unknown>, delta: Record<string, unknown> | undefined): string | null {
    const reason = reasonIn(choice['finish_reason']);
    if (reason === null) return null;
    if (readStopReason(reason) !== null || Object.keys(delta ?? {}).length === 0) return (this.#reason = reason);
    this.#doubtful = reason;
    return null;
  }
}

interface CallPart {
  index: number;
  id: string | undefined;
  name: string | undefined;
  text: string;
  signature: string | undefined;
}

function toCall({ index, id, name, text, signature }: CallPart): object {
  return {
    index,
    ...given({ id }),
    function: { ...given({ name }), arguments: text },
    ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
  };
}

function isWhole(text = ''): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** The text and the thoughts of a content, which may be a list of parts. */
function textsIn(content: unknown): { text: string; thought: string } {
  if (!Array.isArray(content))
    return { text: textIn(isObject(content) ? content['text'] : content) ?? '', thought: '' };
  const said = { text: '', thought: '' };
  for (const part of content as unknown[]) {
    if (typeof part === 'string') said.text += part;
    else if (fieldOf(part, 'type') === 'thinking') said.thought += textsIn(fieldOf(part, 'thinking')).text;
    else said.text += textIn(fieldOf(part, 'text')) ?? '';
  }
  return said;
}

function toUsage(usage: unknown): object | undefined {
  const figures = figuresIn(usage, ['prompt_tokens', 'completion_tokens', 'total_tokens']);
  const cached = figuresIn(fieldOf(usage, 'prompt_tokens_details'), ['cached_tokens', 'cache_write_tokens']);
  const details = figuresIn(fieldOf(usage, 'completion_tokens_details'), ['reasoning_tokens']);
  if (figures === undefined) return undefined;
  return { ...figures, ...given({ prompt_tokens_details: cached, completion_tokens_details: details }) };
}
