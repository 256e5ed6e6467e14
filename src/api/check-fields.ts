// A value of a request against its schema, and what the client reads about what does not fit: the path and the message of every fault.
import type { z } from 'zod';
import { cutHead } from '../core/text.ts';
import { holdsKeptInteger, isKeptInteger, roundedIntegers } from '../core/parse-exactly.ts';
import { Problem, type FieldError, type ProblemCode } from './problem.ts';

const ERRORS_MAX = 20;

/** The value as the schema returns it. Throws `Problem` with the path of every field that is wrong; `place` is where the value is. */
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

const OUT_OF_RANGE = `Out of range: expected an integer from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`;

/**
 * The value as the schema returns it, or its faults. A kept integer is an object, so the schema sees rounded numbers first, and says what is wrong
 * with a number. Then it sees the kept integers, which remain where it takes any value.
 */
export function checkFields<Schema extends z.ZodType>(schema: Schema, value: unknown): Checked<z.output<Schema>> {
  const hasKept = holdsKeptInteger(value);
  const rounded = schema.safeParse(hasKept ? roundedIntegers(value) : value);
  if (!rounded.success) {
    const issues = withoutWiderBounds(rounded.error.issues);
    return { isValid: false, errors: issues.flatMap((issue) => toFieldErrors(issue, value)) };
  }
  const result = hasKept ? schema.safeParse(value) : rounded;
  if (result.success) return { isValid: true, data: result.data };
  // A field takes the number, and would round it.
  const issues = result.error.issues.map((issue) => ({ ...issue, message: OUT_OF_RANGE }));
  return { isValid: false, errors: issues.flatMap((issue) => toFieldErrors(issue, value)) };
}

/** Without the bounds of all integers where the field has narrower ones: zod reports both. */
function withoutWiderBounds(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  return issues.filter((issue, at) => {
    const next = issues[at + 1];
    const isBoundOfInt = (issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'int';
    return !isBoundOfInt || next?.code !== issue.code || formatPath(next.path) !== formatPath(issue.path);
  });
}

/** The messages for the client about a fault of a schema. */
function toFieldErrors(issue: z.core.$ZodIssue, value: unknown): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: formatPath([...issue.path, key]), message: 'unknown field' }));
  }
  if (issue.code === 'invalid_union') {
    const branches = issue.errors.toSorted((one, other) => one.length - other.length);
    const below = branches.flat().map((one) => ({ ...one, path: [...issue.path, ...one.path] }));
    // A kept integer in the value is the fault, whichever branch finds it.
    const closest = below.find(({ path }) => isKeptInteger(valueAt(value, path))) ?? below[0];
    if (closest !== undefined && closest.path.length > issue.path.length) return toFieldErrors(closest, value);
  }
  return [{ path: formatPath(issue.path), message: formatMessage(issue, value) }];
}

const DIGITS_MAX = 40;

/** The message of the schema, with the digits of a kept integer: the schema has seen a rounded number. */
function formatMessage({ path, message }: z.core.$ZodIssue, value: unknown): string {
  const at = valueAt(value, path);
  if (!isKeptInteger(at)) return message;
  const digits = at.rawJSON.length > DIGITS_MAX ? `${at.rawJSON.slice(0, DIGITS_MAX)}…` : at.rawJSON;
  return `${message.replace(/, received number$/, '')}, received number ${digits}`;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((above, step) => (above as Record<PropertyKey, unknown> | null)?.[step], value);
}

const NAME_CHARS_MAX = 100;

function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${cutHead(String(step), NAME_CHARS_MAX)}`))
    .join('')
    .replace(/^\./, '');
}

/** A path below another: `input[0]` and `role` are `input[0].role`. */
function joined(above: string, below: string): string {
  return above === '' || below === '' || below.startsWith('[') ? above + below : `${above}.${below}`;
}
