// Checks what people have written against a schema: the values as they are used, and every fault with its path, the value and what is allowed.
// A value is shown without its secrets: those only by a fingerprint, and of addresses no password, no query and no path that lets in (G31).
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { findClosest } from './find-closest.ts';
import { describeValue, type ConfigIssue } from './config-error.ts';
import { schemaBelow, unwrapSchema } from './walk-schema.ts';

const FINGERPRINT_DIGITS = 8;

/** A secret as it may be shown. The fingerprint is the beginning of its SHA-256 in hex: equal secrets have equal ones. */
export interface ShownSecret {
  isSet: boolean;
  /** Null: it is not set. */
  fingerprint: string | null;
}

const SECRET_NAME = /secret|password|credential|token(?!s)|api[_-]?key|^keys?$|authorization|cookie/i;
/** A command names the key that it calls with; a plugin's own settings, and the environment of an MCP server, may be anything. */
const SECRET_PLACE =
  /\.headers\.|^mcp\.servers\.[^.]+\.env\.|\.heartbeat\.when\.command$|^plugins\.entries\.[^.]+\.config\./;
/** Addresses whose path is not a secret. Those of webhooks often are: who knows the path may call them. */
const OPEN_PATH = /^runtime\.|\.baseUrl$|\.publicUrl$/;

/** True for a setting whose value is a secret, set or not. */
export function isSecret(path: string, value: unknown): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (typeof value === 'boolean' || (Array.isArray(value) && value.length === 0)) return false;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return false;
  return SECRET_NAME.test(name) || (SECRET_PLACE.test(path) && value !== null);
}

/** A secret by its fingerprint. */
export function shownSecret(value: unknown): ShownSecret {
  if (value === null || value === undefined || value === '') return { isSet: false, fingerprint: null };
  const bytes = typeof value === 'string' ? value : JSON.stringify(value);
  return { isSet: true, fingerprint: createHash('sha256').update(bytes).digest('hex').slice(0, FINGERPRINT_DIGITS) };
}

/** A value that is not a secret, with hidden parts removed from its texts. */
export function shownValue(path: string, value: unknown, redact: (text: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => shownValue(path, each, redact));
  if (typeof value !== 'string') return value;
  const mayHidePath = /url$/i.test(path) && !OPEN_PATH.test(path);
  // An address may have characters that end one within a text: a password with a quotation mark.
  if (ADDRESS.test(value) && URL.canParse(value)) return redact(shownUrl(value, mayHidePath));
  return redact(value.replaceAll(ADDRESS_IN_TEXT, (url) => shownUrl(url, mayHidePath)));
}

const CENSOR = '[secret]';
const ADDRESS = /^\s*[a-z][a-z0-9+.-]*:\/\//i;
const ADDRESS_IN_TEXT = /[a-z][a-z0-9+.-]*:\/\/[^\s"'<>]+/gi;

/** An address without its password, the values of its query and its fragment, and on demand without its path. */
function shownUrl(text: string, mayHidePath: boolean): string {
  if (!URL.canParse(text)) return text.replace(/:\/\/.*@/, `://${CENSOR}@`);
  const { protocol, username, password, host, pathname, searchParams, hash } = new URL(text);
  const isDatabase = /^(?:postgres(?:ql)?|rediss?):$/.test(protocol);
  const isPathHidden = pathname.includes('@') || (mayHidePath && pathname.length > 1);
  if (username === '' && password === '' && searchParams.size === 0 && hash === '' && !isPathHidden) return text;
  const name = password === '' && !isDatabase && username !== '' ? CENSOR : username;
  const user = username === '' && password === '' ? '' : `${name}${password === '' ? '' : `:${CENSOR}`}@`;
  const query = [...searchParams].map(([key, value]) => {
    const isOpen = isDatabase && !SECRET_NAME.test(key) && !/pass|sslkey/i.test(key);
    return `${key}=${isOpen ? value : CENSOR}`;
  });
  const path = isPathHidden ? `/${CENSOR}` : pathname;
  return `${protocol}//${user}${host}${path}${query.length > 0 ? `?${query.join('&')}` : ''}${hash === '' ? '' : `#${CENSOR}`}`;
}

/** A configuration is read a few times in a process: compiling its schema would cost more than it saves. */
const CONTEXT = { reportInput: true, jitless: true };

/** The value, without what is faulty in it. `nameOf` names a path in messages. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  nameOf: (path: string) => string = (path) => path || '(file)',
): { output: z.output<Schema>; issues: ConfigIssue[] } {
  const result = schema.safeParse(value, CONTEXT);
  if (result.success) return { output: result.data, issues: [] };
  const issues = result.error.issues.flatMap((issue) => toIssues(issue, schema, nameOf));
  // The rest without the faulty values is still checked, so that faults between values are in the same report.
  const rest = schema.safeParse(withoutFaults(value, result.error.issues), CONTEXT);
  return { output: rest.success ? rest.data : schema.parse({}), issues };
}

/** A copy of the value without the keys that the issues are about. */
function withoutFaults(value: unknown, issues: readonly z.core.$ZodIssue[]): unknown {
  const copy: unknown = structuredClone(value);
  for (const issue of issues) {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.at(-1)];
    const parentPath = issue.code === 'unrecognized_keys' ? issue.path : issue.path.slice(0, -1);
    const parent = parentPath.reduce<unknown>((at, step) => (isObject(at) ? at[String(step)] : undefined), copy);
    for (const key of keys) if (isObject(parent) && key !== undefined) delete parent[String(key)];
  }
  return copy;
}

/** One issue of ours for each fault that zod names; unknown keys become one each, with a suggestion. */
function toIssues(issue: z.core.$ZodIssue, schema: z.ZodType, nameOf: (path: string) => string): ConfigIssue[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKeyIssue(schema, issue.path, key));
  const path = nameOf(pathText(issue.path));
  const allowed = describeAllowed(issue);
  const value = describeValue(path, issue.input);
  return [
    { path: path === '' ? '(file)' : path, value: issue.input, allowed, message: `is ${value}; allowed: ${allowed}` },
  ];
}

function unknownKeyIssue(schema: z.ZodType, path: PropertyKey[], key: string): ConfigIssue {
  const parent = path.reduce<z.ZodType | undefined>((at, step) => at && schemaBelow(at, step), schema);
  const object = parent && unwrapSchema(parent);
  const known = object instanceof z.ZodObject ? Object.keys(object.shape) : [];
  const close = findClosest(key, known);
  const hint = close === undefined ? ` (known here: ${known.join(', ')})` : `; did you mean ${JSON.stringify(close)}?`;
  const allowed = known.join(', ');
  return {
    path: pathText([...path, key]),
    value: undefined,
    allowed,
    message: `is not a known key${hint}`,
  };
}

/** The allowed values, as text, from the fault that zod found. */
function describeAllowed(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return (
        { int: 'a whole number', object: 'an object', array: 'a list', record: 'an object' }[
          issue.expected as string
        ] ?? `a ${issue.expected}`
      );
    case 'invalid_value':
      return issue.values.map((value) => JSON.stringify(value)).join(', ');
    case 'too_small':
      return `at least ${issue.minimum}${formatUnit(issue.origin, Number(issue.minimum))}`;
    case 'too_big':
      return `at most ${issue.maximum}${formatUnit(issue.origin, Number(issue.maximum))}`;
    case 'invalid_union':
      return unionText(issue.errors);
    case 'invalid_key':
      return issue.issues.map(describeAllowed).join(', ');
    case 'unrecognized_keys':
      return `no key ${issue.keys.join(', ')}`;
    case 'invalid_element':
    case 'invalid_format':
    case 'not_multiple_of':
    case 'custom':
      return issue.message;
  }
}

/** Of a union's branches, those that the value came furthest in speak: the others only say that it is of another type. */
function unionText(branches: z.core.$ZodIssue[][]): string {
  const speaking = branches.filter((branch) =>
    branch.every((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  );
  const texts = (speaking.length > 0 ? speaking : branches).map((branch) => branch.map(branchText).join(' and '));
  return [...new Set(texts)].join(', or ');
}

function branchText(issue: z.core.$ZodIssue): string {
  const where = issue.path.length > 0 ? `${pathText(issue.path)}: ` : '';
  return `${where}${describeAllowed(issue)}`;
}

function formatUnit(origin: string, amount: number): string {
  if (origin === 'string') return amount === 1 ? ' character' : ' characters';
  if (origin === 'array') return amount === 1 ? ' item' : ' items';
  return '';
}

function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : String(step)))
    .join('.')
    .replaceAll('.[', '[');
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
