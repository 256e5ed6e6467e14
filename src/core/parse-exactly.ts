// JSON with every digit of its integers. JavaScript rounds integers past 2^53, and a rounded id is the id of something else.

/** An integer that may be rounded has at least so many digits. */
const LONG_INTEGER = /\d{16}/;

/**
 * The value of a JSON text as a model wrote it: an integer that a number cannot hold becomes a text with the same digits. A tool whose schema
 * does not take a text refuses it, and the model gets that as the result of its call. Throws `SyntaxError`.
 */
export function parseExactly(text: string): unknown {
  return LONG_INTEGER.test(text) ? JSON.parse(text, exactValue) : JSON.parse(text);
}

function exactValue(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
  if (!/^-?\d+$/.test(source)) return value;
  return Number.isFinite(value) && String(BigInt(value)) === source ? value : source;
}

/**
 * The value of a JSON text that will be JSON again, such as the schema of a tool: `JSON.stringify` writes an integer that a number cannot hold
 * with the digits that the text has. Until then it is an object of `JSON.rawJSON` (`isKeptInteger`), so a place that takes a number refuses it.
 * Throws `SyntaxError`. Everything that is read from the database passes here. Looking at the values adds a tenth to the time of parsing long
 * texts, and two thirds for many small values; a search of the text for long integers takes up to four times as long as parsing it.
 */
export function parseKeepingIntegers(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return holds(value, isLargeNumber) ? JSON.parse(text, keptInteger) : value;
}

/** An integer that `parseKeepingIntegers` has kept; `rawJSON` has its digits. */
export interface KeptInteger {
  readonly rawJSON: string;
}

/** True for a kept integer, which would otherwise be taken for an object of the text. */
export function isKeptInteger(value: unknown): value is KeptInteger {
  return isRawJson(value);
}

/** True when the value is or contains a kept integer. */
export function holdsKeptInteger(value: unknown): boolean {
  return holds(value, isKeptInteger);
}

/** The value as `JSON.parse` returns it: the kept integers are rounded numbers, and finite ones however long they are. */
export function roundedIntegers(value: unknown): unknown {
  if (isKeptInteger(value)) return Math.max(-Number.MAX_VALUE, Math.min(Number(value.rawJSON), Number.MAX_VALUE));
  if (Array.isArray(value)) return value.map(roundedIntegers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, roundedIntegers(field)]));
}

function isLargeNumber(value: unknown): boolean {
  return typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER;
}

/** True when the value, or one in it that is not a text, is what is searched for. */
function holds(value: unknown, isFound: (value: unknown) => boolean): boolean {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (isFound(next)) return true;
    if (typeof next !== 'object' || next === null) continue;
    for (const below of Object.values(next)) if (typeof below !== 'string') left.push(below);
  }
  return false;
}

function keptInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
  return /^-?\d+$/.test(source) && String(value) !== source ? rawJson(source) : value;
}

// The compiler's library does not know them yet.
const { rawJSON: rawJson, isRawJSON: isRawJson } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => boolean;
};
