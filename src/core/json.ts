// Values of JSON: optional fields, one value over another, one text for equal values, and integers
// with all their digits.
/** The fields that have a value, in their order; those that are undefined are left out. */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  // TypeScript does not see that only some fields are left out.
  return Object.fromEntries(entries) as { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };
}

/** True for an object that is no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One text for all equivalent JSON values: object names sorted, no blanks. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`;
}

/**
 * Freezes plain objects and arrays without cycles all the way down, so that they can be shared
 * without copies, and returns the same value.
 */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/**
 * A copy of `base` with `over` laid on it: objects key by key, everything else as a whole. Absent
 * and undefined leave what is there. Neither argument is changed.
 */
export function mergeOver<Base>(base: Base, over: unknown): Base {
  if (over === undefined) return structuredClone(base);
  if (!isObject(base) || !isObject(over)) return structuredClone(over) as Base;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === '__proto__') continue;
    merged[key] = mergeOver(Object.hasOwn(merged, key) ? merged[key] : undefined, value);
  }
  return merged as Base;
}

// JSON with every digit of its integers. JavaScript rounds integers past 2^53, and a rounded id is
// the id of something else.

/**
 * The value of a JSON text as a model wrote it: an integer that a number cannot hold becomes a text
 * with the same digits. A tool whose schema does not take a text refuses it, and the model gets
 * that as the result of its call. Throws `SyntaxError`.
 */
export function parseExactly(text: string): unknown {
  return parse(text, (digits) => digits);
}

/**
 * The value of a JSON text that will be JSON again, such as the schema of a tool: `JSON.stringify`
 * writes an integer that a number cannot hold with the digits that the text has. Until then it is
 * an object of `JSON.rawJSON` (`isKeptInteger`), so a place that takes a number refuses it. Throws
 * `SyntaxError`. Everything that is read from the database passes here.
 */
export function parseKeepingIntegers(text: string): unknown {
  return parse(text, rawJson);
}

/** The value, with `kept` of the digits in place of every integer that a number does not have. */
function parse(text: string, kept: (digits: string) => unknown): unknown {
  if (!hasLongInteger(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || Number.isSafeInteger(value) || source === undefined) return value;
    return /^-?\d+$/.test(source) && String(value) !== source ? kept(source) : value;
  });
}

/** An integer that may be rounded has at least so many digits. */
const DIGITS_MIN = 16;

/**
 * True when the text has an integer of at least `DIGITS_MIN` digits outside of words and fractions:
 * one of its digits is at a place that is checked. This adds a tenth to the time of parsing; a
 * regular expression doubles it, and a walk over the values adds up to a half.
 */
function hasLongInteger(text: string): boolean {
  for (let at = DIGITS_MIN - 1; at < text.length; at += DIGITS_MIN) {
    if (!isDigit(text, at)) continue;
    let first = at;
    while (isDigit(text, first - 1)) first -= 1;
    while (isDigit(text, at + 1)) at += 1;
    // From here on, `at` is the last of these digits, so each is read twice at most.
    if (at + 1 - first >= DIGITS_MIN && !/["\w.]/.test(text.charAt(first - 1))) return true;
  }
  return false;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
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
  if (typeof value !== 'object' || value === null) return false;
  return isKeptInteger(value) || Object.values(value).some(holdsKeptInteger);
}

/**
 * The value as `JSON.parse` returns it: the kept integers are rounded numbers, and finite ones
 * however long they are.
 */
export function roundedIntegers(value: unknown): unknown {
  if (isKeptInteger(value)) return Math.max(-Number.MAX_VALUE, Math.min(Number(value.rawJSON), Number.MAX_VALUE));
  if (Array.isArray(value)) return value.map(roundedIntegers);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, roundedIntegers(field)]));
}

// The compiler's library does not know them yet.
const { rawJSON: rawJson, isRawJSON: isRawJson } = JSON as unknown as {
  rawJSON: (text: string) => object;
  isRawJSON: (value: unknown) => boolean;
};
