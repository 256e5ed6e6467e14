// Servers send events of odd forms: fields that are null, of another type or missing, events of
// other APIs. A tidier of each API reads what can be read and writes it in the form that the API
// describes, before the code that reads only this form. What it cannot read is left out and costs
// only itself. It completes nothing: the arguments of a call, a reason to end and the end itself
// are there only if the server has sent them.
import { cutHead } from '../../../core/text.ts';
import { given, isObject } from '../../../core/json.ts';

/**
 * Puts the events of one answer into the form of their API. Throws nothing but a `RangeError` for
 * an event that is nested too deeply.
 */
export interface Tidier {
  /** What stands for the next event. */
  take(event: Record<string, unknown>): object[];
  /**
   * What stands for the end. `isSaid`: the server has said that the answer is complete; else its
   * connection has ended as it should.
   */
  end(isSaid: boolean): object[];
  /** True once the answer has said that it is complete. */
  readonly isComplete: boolean;
}

/** The longest reason of an odd form that is kept. */
const REASON_CHARS_MAX = 100;

/** A text, also where a number was sent. */
export function textIn(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return typeof value === 'string' ? value : undefined;
}

/** The same, unless it is blank. */
export function wordIn(value: unknown): string | undefined {
  const text = textIn(value);
  return text === undefined || text.trim() === '' ? undefined : text;
}

/** A figure, also where its digits were sent as a text. */
export function figureIn(value: unknown): number | undefined {
  const figure = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof figure === 'number' && Number.isFinite(figure) ? figure : undefined;
}

/** The place of a block or a call. */
export function placeIn(value: unknown): number | undefined {
  const figure = figureIn(value);
  return Number.isSafeInteger(figure) && Number(figure) >= 0 ? figure : undefined;
}

/** The objects of a list, or the one that was sent without a list. */
export function objectsIn(value: unknown): Record<string, unknown>[] {
  return (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isObject);
}

/** The field of what may be no object. */
export function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/**
 * The arguments of a call as JSON, also where they were sent as a value. A text is taken as it is:
 * it may be a part.
 */
export function argumentsIn(value: unknown): string | undefined {
  return value === undefined || value === null || typeof value === 'string'
    ? (value ?? undefined)
    : JSON.stringify(value);
}

/**
 * Why an answer ended: null if nothing was said, a text otherwise, which may be empty. Some servers
 * send an object with the word in it.
 */
export function reasonIn(value: unknown): string | null {
  if (value === undefined || value === null || value === false) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return reasonIn(value[0]);
  const word = fieldOf(value, 'type') ?? fieldOf(value, 'reason');
  return typeof word === 'string' ? word : cutHead(JSON.stringify(value), REASON_CHARS_MAX);
}

/** The figures of an object that can be read, by their names; undefined: it has none. */
export function figuresIn(value: unknown, names: readonly string[]): Record<string, number> | undefined {
  const figures = given(Object.fromEntries(names.map((name) => [name, figureIn(fieldOf(value, name))])));
  return Object.keys(figures).length === 0 ? undefined : (figures as Record<string, number>);
}

/** True for an event that is an error of the server. Some servers send an empty field for none. */
export function isErrorEvent({ type, object, error }: Record<string, unknown>): boolean {
  const isEmpty = isObject(error) ? Object.keys(error).length === 0 : Array.isArray(error) || !error;
  return type === 'error' || object === 'error' || !isEmpty;
}

/**
 * The objects that the data of an event are, of a list each one. Data that cannot be an object have
 * nothing of an answer. Throws a `SyntaxError` if the rest of an object is missing: that would be
 * missing in the answer.
 */
export function readChunk(data: string): Record<string, unknown>[] {
  return /^\s*[{[]/.test(data) ? objectsIn(JSON.parse(data)) : [];
}
