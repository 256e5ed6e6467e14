// Finds the directives of a text and cuts them into name, body and parameters; what they mean is
// `parse-script.ts`'s business. Double brackets with an unknown name are ordinary text.
import { isRecord } from './wire.ts';

/** A directive with a mistake; the model answers with its message. */
export class ScriptError extends Error {
  readonly code = 'script_error';

  constructor(name: string, what: string) {
    super(`Script error: [[${name}]] ${what}.`);
    this.name = 'ScriptError';
  }
}

export interface Directive {
  name: string;
  /** Everything after the colon, trimmed. */
  body: string;
  parameters: DirectiveParameters;
  /** Whether an `&` joins it to the next. */
  isJoined: boolean;
}

const OPENING =
  /\[\[\s*(reply|fill|thinking|redacted|tool|arguments|repeat|next|empty|delay|slow|error|cut|stall|malformed|stop|usage|batch|for)\s*(?::|(?=\]\]))/g;
const JOINT = /\s*&\s*(?=\[\[)/y;
const WORD = /([a-z-]+)=("(?:[^"\\]|\\.)*"|\S+)|(\S+)/g;

/** The directives of a text in order, and the text without them, trimmed. */
export function readDirectives(text: string): { directives: Directive[]; ownText: string } {
  if (!text.includes('[[')) return { directives: [], ownText: text.trim() };
  const directives: Directive[] = [];
  let ownText = '';
  let from = 0;
  OPENING.lastIndex = 0;
  for (let opening = OPENING.exec(text); opening; opening = OPENING.exec(text)) {
    const name = opening[1] ?? '';
    const bodyFrom = OPENING.lastIndex;
    const { json, jsonFrom, jsonTo } = name === 'tool' || name === 'repeat' ? findJson(name, text, bodyFrom) : NO_JSON;
    const bodyTo = text.indexOf(']]', jsonTo === -1 ? bodyFrom : jsonTo);
    if (bodyTo === -1) throw new ScriptError(name, 'is not closed');
    const words =
      jsonTo === -1 ? text.slice(bodyFrom, bodyTo) : `${text.slice(bodyFrom, jsonFrom)} ${text.slice(jsonTo, bodyTo)}`;
    ownText += text.slice(from, opening.index);
    from = bodyTo + 2;
    JOINT.lastIndex = from;
    const isJoined = JOINT.test(text);
    if (isJoined) from = JOINT.lastIndex;
    const body = text.slice(bodyFrom, bodyTo).trim();
    directives.push({ name, body, parameters: new DirectiveParameters(name, words, json), isJoined });
    OPENING.lastIndex = from;
  }
  return { directives, ownText: (ownText + text.slice(from)).trim() };
}

/**
 * The words of a directive: positional ones, `name=value` ones, and the JSON of a tool call's
 * arguments.
 */
export class DirectiveParameters {
  readonly json: string;
  readonly #directive: string;
  readonly #words: string;
  #positional: string[] = [];
  #named: Map<string, string> | null = null;

  constructor(directive: string, words: string, json: string) {
    this.#directive = directive;
    this.#words = words;
    this.json = json;
  }

  /** The first word as a whole number from 0 to `max`. */
  first(max: number): number {
    const value = Number(this.word());
    if (!Number.isInteger(value) || value < 0 || value > max)
      throw new ScriptError(this.#directive, `needs a number from 0 to ${max}`);
    return value;
  }

  /** The first word. */
  word(): string {
    this.#read();
    const [word] = this.#positional;
    if (word === undefined) throw new ScriptError(this.#directive, 'needs a value');
    return word;
  }

  /** Whether a word is among the positional ones. */
  has(word: string): boolean {
    this.#read();
    return this.#positional.includes(word);
  }

  /** The name of the tool: the last positional word (`tool: name`, `repeat: 5 tool name`). */
  tool(): string {
    this.#read();
    const name = this.#positional.at(-1);
    if (name === undefined) throw new ScriptError(this.#directive, 'needs the name of a tool');
    return name;
  }

  /** A named value; null when it is not given. */
  text(name: string): string | null {
    return this.#read().get(name) ?? null;
  }

  number(name: string): number | null {
    const text = this.text(name);
    if (text === null) return null;
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0)
      throw new ScriptError(this.#directive, `has no number in ${name}=${text}`);
    return value;
  }

  /** How often something happens: `times=3`, `times=always`, otherwise once. */
  times(): number {
    return this.text('times') === 'always' ? Number.POSITIVE_INFINITY : (this.number('times') ?? 1);
  }

  /** How often a fault happens, and for which model; without one, for all. */
  occurrence(): { times: number; model?: string } {
    const model = this.text('model');
    return { times: this.times(), ...(model !== null && { model }) };
  }

  #read(): Map<string, string> {
    if (this.#named) return this.#named;
    this.#named = new Map();
    for (const [, name, value, word] of this.#words.matchAll(WORD)) {
      if (word !== undefined) this.#positional.push(word);
      else if (name !== undefined && value !== undefined) this.#named.set(name, unquote(value));
    }
    return this.#named;
  }
}

function unquote(value: string): string {
  return value.startsWith('"') && value.endsWith('"') && value.length > 1
    ? value.slice(1, -1).replace(/\\(.)/g, '$1')
    : value;
}

const NO_JSON = { json: '{}', jsonFrom: -1, jsonTo: -1 };

/** The JSON object that follows the tool's name, if one does; it may hold `]]` itself. */
function findJson(directive: string, text: string, from: number): { json: string; jsonFrom: number; jsonTo: number } {
  const jsonFrom = text.indexOf('{', from);
  const closing = text.indexOf(']]', from);
  if (jsonFrom === -1 || (closing !== -1 && closing < jsonFrom)) return NO_JSON;
  const jsonTo = endOfObject(text, jsonFrom);
  const json = text.slice(jsonFrom, jsonTo);
  try {
    if (isRecord(JSON.parse(json))) return { json, jsonFrom, jsonTo };
  } catch {
    // Said below, with the others.
  }
  throw new ScriptError(directive, `has arguments that are no JSON object: ${json.slice(0, 200)}`);
}

/** The index after the brace that closes the one at `from`; the end of the text when none does. */
function endOfObject(text: string, from: number): number {
  let depth = 0;
  let isString = false;
  for (let index = from; index < text.length; index += 1) {
    const char = text[index];
    if (isString) {
      if (char === '\\') index += 1;
      else if (char === '"') isString = false;
    } else if (char === '"') isString = true;
    else if (char === '{') depth += 1;
    else if (char === '}' && --depth === 0) return index + 1;
  }
  return text.length;
}
