// Reading a JSON body so that nothing surprising is stored: valid UTF-8, no deeper than allowed, no
// name twice, no NUL character and no lone surrogate in any string or name (PostgreSQL would refuse
// them, or a later reader would).
import { isUtf8 } from 'node:buffer';
import { cutHead } from '../core/text.ts';
import { describeAllowed, describeFault, IN_WORDS } from '../config/check-input.ts';
import { describeValue } from '../config/config-error.ts';
import { parseKeepingIntegers, holdsKeptInteger, isKeptInteger, roundedIntegers } from '../core/json.ts';
import { Problem, type FieldError, type ProblemCode, notFound } from './problem.ts';
import type { z } from 'zod';
import { isUuid, type SessionKey } from '../core/ids.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../core/session-key.ts';

/** The value of the body. Throws `Problem` 400, which names the path of what is refused. */
export function parseJson(body: Buffer, depthMax: number): unknown {
  if (!isUtf8(body)) throw new Problem('invalid_json', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = parseKeepingIntegers(text);
  } catch (error) {
    throw new Problem('invalid_json', `The body is not valid JSON: ${describeSyntax(text, error as Error)}.`, {
      cause: error,
    });
  }
  checkText(text, depthMax);
  return value;
}

/** What the parser says, without the part of the body that it quotes in some messages (G31). */
const FAULT = /^Unexpected token '.'|^Unexpected end of JSON input|^.+ JSON at position \d+.*/su;

function describeSyntax(text: string, { message }: Error): string {
  if (text.startsWith('\ufeff')) return 'it begins with a byte order mark';
  return FAULT.exec(message)?.[0] ?? 'it cannot be parsed';
}

/** An object or a list that is being read. */
interface Level {
  /** The names of an object so far; null for a list. */
  names: Set<string> | null;
  /** The place of the value that is read: a name, or a number of a list. */
  place: string | number;
}

/**
 * Throws for what `JSON.parse` takes without a word. Of two fields with one name it keeps the last,
 * while a proxy or a log may have read the first. `text` must be valid JSON.
 */
function checkText(text: string, depthMax: number): void {
  // A string can hold a NUL character or half of a surrogate pair only through an escape: JSON
  // forbids the one as a byte, and UTF-8 the other.
  const hasEscapes = text.includes('\\u');
  const levels: Level[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const level = levels.at(-1);
    const character = text.charAt(at);
    switch (character) {
      case '{':
      case '[':
        if (levels.length === depthMax) throw refusal('The body is nested too deeply.', levels, 'nested too deeply');
        levels.push(character === '{' ? { names: new Set(), place: '' } : { names: null, place: 0 });
        break;
      case '}':
      case ']':
        levels.pop();
        break;
      case ',':
        if (typeof level?.place === 'number') level.place += 1;
        break;
      case '"': {
        const end = endOfString(text, at);
        const quoted = text.slice(at, end);
        at = end - 1;
        if (level?.names && isName(text, end)) {
          level.place = unquote(quoted);
          if (level.names.has(level.place)) throw namedTwice(levels);
          level.names.add(level.place);
        }
        if (hasEscapes && quoted.includes('\\u')) checkString(unquote(quoted), levels);
        break;
      }
      default:
    }
  }
}

/** The position after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let quote = start;
  let backslashes: number;
  do {
    quote = text.indexOf('"', quote + 1);
    backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
  } while (backslashes % 2 === 1);
  return quote + 1;
}

/** True when a colon follows. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/\s/.test(text[at] ?? '')) at += 1;
  return text[at] === ':';
}

function unquote(quoted: string): string {
  return quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
}

/** Throws when the string holds a NUL character or half of a surrogate pair. */
function checkString(text: string, levels: readonly Level[]): void {
  if (!text.includes('\u0000') && text.isWellFormed()) return;
  const fault = text.includes('\u0000') ? 'holds a NUL character' : 'holds a lone surrogate';
  throw refusal(`A string of the body ${fault}: ${shownPath(levels)}`, levels, fault);
}

function namedTwice(levels: readonly Level[]): Problem {
  const detail = `The body contains a field twice: ${shownPath(levels)}. Send each field once.`;
  return refusal(detail, levels, 'named twice');
}

function refusal(detail: string, levels: readonly Level[], message: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ path: shownPath(levels), message }] });
}

const PATH_CHARS_MAX = 200;

/** A path as it may be shown: bounded, and without the characters that it is refused for. */
function shownPath(levels: readonly Level[]): string {
  const path = formatField(levels.map(({ place }) => place));
  const shown = path.replaceAll('\u0000', '\\u0000').toWellFormed();
  return shown.length > PATH_CHARS_MAX ? `${cutHead(shown, PATH_CHARS_MAX)}…` : shown;
}

// A value of a request against its schema, and what the client reads about what does not fit: the
// path and the message of every fault.

const ERRORS_MAX = 20;

/**
 * The value as the schema returns it. Throws `Problem` with the path of every field that is wrong;
 * `place` is where the value is.
 */
export function parseWith<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  code: ProblemCode,
  place = '',
): z.output<Schema> {
  const checked = checkFields(schema, value);
  if (checked.isValid) return checked.data;
  const errors = checked.errors.slice(0, ERRORS_MAX).map((one) => ({ ...one, path: joined(place, one.path) }));
  const first = errors[0];
  const where = first === undefined || first.path === '' ? '' : `${first.path}: `;
  throw new Problem(code, `${where}${first?.message ?? 'is not valid'}`, { errors });
}

type Checked<Data> = { isValid: true; data: Data } | { isValid: false; errors: FieldError[] };

/** Of numbers that a field would round. */
const IN_RANGE = `a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}, or a text`;

/**
 * The value as the schema returns it, or its faults. A kept integer is an object, so the schema
 * sees rounded numbers first, and says what is wrong with a number. Then it sees the kept integers,
 * which remain where it takes any value.
 */
export function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): Checked<z.output<Schema>> {
  const hasKept = holdsKeptInteger(value);
  const rounded = schema.safeParse(hasKept ? roundedIntegers(value) : value, IN_WORDS);
  if (!rounded.success) {
    const issues = withoutWiderBounds(rounded.error.issues);
    return { isValid: false, errors: issues.flatMap((issue) => toFieldErrors(issue, value)) };
  }
  const result = hasKept ? schema.safeParse(value, IN_WORDS) : rounded;
  if (result.success) return { isValid: true, data: result.data };
  // A field takes the number, and would round it.
  return { isValid: false, errors: result.error.issues.flatMap((issue) => toFieldErrors(issue, value, IN_RANGE)) };
}

/** Without the bounds of all integers where the field has narrower ones: zod reports both. */
function withoutWiderBounds(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.filter((issue, at) => {
    const next = issues[at + 1];
    const isBoundOfInt = (issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'int';
    return !isBoundOfInt || next?.code !== issue.code || formatField(next.path) !== formatField(issue.path);
  });
}

/**
 * The messages for the client about a fault of a schema. `allowed`: in place of what it says itself.
 */
function toFieldErrors(issue: z.core.$ZodIssue, value: unknown, allowed?: string): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: formatField([...issue.path, key]), message: 'unknown field' }));
  }
  if (issue.code === 'invalid_union') {
    const branches = issue.errors.toSorted((one, other) => one.length - other.length);
    const below = branches.flat().map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
    // A kept integer in the value is the fault, whichever branch finds it.
    const closest = below.find(({ path }) => isKeptInteger(valueAt(value, path))) ?? below[0];
    if (closest !== undefined && closest.path.length > issue.path.length)
      return toFieldErrors(withAllValues(closest, below), value, allowed);
  }
  const path = formatField(issue.path);
  // The schema has seen a rounded number.
  const input = valueAt(value, issue.path);
  const message = allowed === undefined ? null : `is ${describeValue(path, input)}; allowed: ${allowed}`;
  return [{ path, message: message ?? describeFault(issue, path, { value: input }) }];
}

/** A value that no branch of a union allows, with those that its branches do. */
function withAllValues(issue: z.core.$ZodIssue, branches: readonly z.core.$ZodIssue[]): z.core.$ZodIssue {
  if (issue.code !== 'invalid_value') return issue;
  const path = formatField(issue.path);
  const alike = branches.filter((one) => one.code === 'invalid_value' && formatField(one.path) === path);
  const values = alike.flatMap((one) => (one.code === 'invalid_value' ? one.values : []));
  return { ...issue, values, message: describeAllowed({ ...issue, values }) };
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((above, step) => (above as Record<PropertyKey, unknown> | null)?.[step], value);
}

const NAME_CHARS_MAX = 100;

function formatField(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${cutHead(String(step), NAME_CHARS_MAX)}`))
    .join('')
    .replace(/^\./, '');
}

/** A path below another: `input[0]` and `role` are `input[0].role`. */
function joined(above: string, below: string): string {
  return above === '' || below === '' || below.startsWith('[') ? above + below : `${above}.${below}`;
}

// The path parameters by name: their checks, the values that a route gets, and their descriptions
// in the document.

interface PathParameter<Value> {
  description: string;
  /** JSON Schema of the value in a request. */
  schema: Record<string, unknown>;
  /** The value that routes get. Throws `Problem`. */
  parse: (raw: string) => Value;
}

const COUNT = /^[1-9]\d{0,8}$/;

export const PATH_PARAMETERS = {
  key: {
    description: 'The key of a session; a key without the prefix agent: belongs to the agent main',
    schema: { type: 'string', maxLength: 211 },
    parse: (raw) => parseSessionKey(raw, 'key'),
  } satisfies PathParameter<SessionKey>,
  id: defineUuid('The id of the object, as answers have it', 'resource'),
  runId: defineUuid('The id of a run of a subagent', 'run'),
  n: {
    description: 'The number of the model call, or of the part of an entry, counted from 1',
    schema: { type: 'integer', minimum: 1 },
    parse(raw) {
      if (!COUNT.test(raw)) throw notFound('object with this number: numbers start at 1');
      return Number(raw);
    },
  } satisfies PathParameter<number>,
  callId: defineText('The id of a tool call'),
  toolCallId: defineText('The id of a call of an external tool'),
  model: defineText('The name of a model'),
  responseId: defineText('The id of a response'),
  fileId: defineText('The id of a file'),
  clientBatchId: defineText('The id of an OpenAI-compatible batch'),
  senderId: defineText('The sender.id in the messages of the person'),
  agent: defineText('The id of an agent'),
  dataset: defineText('The id or the name of a data set'),
  server: defineText('The name of an MCP server'),
  name: defineText('The name of a channel in the configuration'),
  account: defineText('The name of an account of the channel in the configuration'),
  attentionId: defineText('The id of a problem that needs attention'),
};

type PathParameterName = keyof typeof PATH_PARAMETERS;

/**
 * `key` is canonical, `id` and `runId` are UUIDs in lower case, `n` is a positive integer, `callId`
 * a text, `agent` a name.
 */
export type PathValues = {
  [Name in PathParameterName]: ReturnType<(typeof PATH_PARAMETERS)[Name]['parse']>;
};

function isPathParameter(name: string): name is PathParameterName {
  return Object.hasOwn(PATH_PARAMETERS, name);
}

export function namesIn(path: string): PathParameterName[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    if (!isPathParameter(name)) throw new Error(`the path ${path} has a parameter that PATH_PARAMETERS does not know`);
    return name;
  });
}

/** The canonical form of a session key from outside. Throws `Problem` 400. */
export function parseSessionKey(raw: string, path: string): SessionKey {
  try {
    return canonicalSessionKey(raw);
  } catch (error) {
    if (!(error instanceof InvalidSessionKeyError)) throw error;
    throw new Problem('invalid_session_key', `The ${error.message}.`, {
      errors: [{ path, message: '1 to 200 characters of a-z 0-9 : _ . @ + -' }],
      cause: error,
    });
  }
}

function defineText(description: string): PathParameter<string> {
  return { description, schema: { type: 'string' }, parse: (raw) => raw };
}

function defineUuid(description: string, what: string): PathParameter<string> {
  return {
    description,
    schema: { type: 'string', format: 'uuid' },
    parse(raw) {
      if (!isUuid(raw)) throw notFound(`${what} with this id: ids are UUIDs`);
      return raw.toLowerCase();
    },
  };
}
