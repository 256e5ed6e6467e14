// Checks what people have written against a schema: the values as they are used, and every fault
// with its path, the value and what is allowed. Also the ways through the schema: the key that a
// path names, and every key.
import { z } from 'zod';
import { describeChoices, findClosest, describeValue, type ConfigIssue } from './config-error.ts';

/**
 * A configuration is read a few times in a process: compiling its schema would cost more than it
 * saves.
 */
const CONTEXT = { error: describeAllowed, reportInput: true, jitless: true };

/** For `safeParse`: what is wrong, in our words; `describeFault` makes a sentence of it. */
export const IN_WORDS = { error: describeAllowed, reportInput: true };

/** The value, without what is faulty in it. `nameOf` names a path in messages. */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  nameOf: (path: string) => string = (path) => path || '(file)',
): { output: z.output<Schema>; issues: ConfigIssue[] } {
  const result = schema.safeParse(value, CONTEXT);
  if (result.success) return { output: result.data, issues: [] };
  const issues = result.error.issues.flatMap((issue) => toIssues(issue, schema, nameOf));
  // The rest without the faulty values is still checked, so that faults between values are in the
  // same report.
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

/**
 * One issue of ours for each fault that zod names; unknown keys become one each, with a suggestion.
 */
function toIssues(issue: z.core.$ZodIssue, schema: z.ZodType, nameOf: (path: string) => string): ConfigIssue[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKeyIssue(schema, issue.path, key));
  const path = nameOf(pathText(issue.path));
  const { message: allowed } = issue;
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

const TYPES: Readonly<Record<string, string>> = {
  int: 'a whole number',
  string: 'a text',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  record: 'an object',
  null: 'null',
  never: 'nothing',
};

const FORMATS: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  datetime: 'a time such as "2026-01-31T09:00:00Z"',
  url: 'a URL',
};

/**
 * The allowed values, as text, from the fault that zod found: the words of every schema that has
 * none of its own.
 */
export function describeAllowed(issue: z.core.$ZodRawIssue | z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? `a ${issue.expected}`;
    case 'invalid_value':
      return describeChoices(issue.input, issue.values);
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${formatUnit(issue.origin, Number(issue.minimum))}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${formatUnit(issue.origin, Number(issue.maximum))}`;
    case 'invalid_union':
      return unionText(issue);
    case 'invalid_key':
    case 'invalid_element':
      return issue.issues.map(({ message }) => message).join(', ');
    case 'unrecognized_keys':
      return `no key ${issue.keys.join(', ')}`;
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? `a text in the format ${issue.format}`;
    case 'custom':
      return 'another value';
  }
}

/**
 * A fault as a sentence after its path: the value and what is allowed, or what the schema says in
 * words of its own.
 */
export function describeFault(issue: z.core.$ZodIssue, path: string, sent = { value: issue.input as unknown }): string {
  if (issue.code === 'unrecognized_keys')
    return `has unknown fields: ${issue.keys.map((key) => JSON.stringify(key)).join(', ')}`;
  if (issue.message !== describeAllowed(issue)) return issue.message;
  return `is ${describeValue(path, sent.value)}; allowed: ${issue.message}`;
}

/**
 * Of a union's branches, those that the value came furthest in speak: the others only say that it
 * is of another type.
 */
function unionText({ errors: branches, options }: { errors: z.core.$ZodIssue[][]; options?: unknown }): string {
  // The field that tells the branches apart has a value of none of them.
  if (Array.isArray(options)) return describeChoices(undefined, options);
  const speaking = branches.filter((branch) =>
    branch.every((issue) => issue.code !== 'invalid_type' || issue.path.length > 0),
  );
  const texts = (speaking.length > 0 ? speaking : branches).map((branch) => branch.map(branchText).join(' and '));
  return [...new Set(texts)].join(', or ');
}

function branchText(issue: z.core.$ZodIssue): string {
  const where = issue.path.length > 0 ? `${pathText(issue.path)}: ` : '';
  return `${where}${issue.message}`;
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

// Ways through a schema.

/**
 * The schema below what can be omitted, has a default or is transformed; where there is a short
 * form in addition to an object, the object.
 */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  const { def } = schema as z.ZodType & { def: { innerType?: z.ZodType; in?: z.ZodType; options?: z.ZodType[] } };
  const object = def.options?.find((option) => option.def.type === 'object');
  const next = def.innerType ?? (schema.def.type === 'pipe' ? def.in : object);
  return next === undefined ? schema : unwrapSchema(next);
}

/** The schema of the value at a key or a place. */
export function schemaBelow(schema: z.ZodType, step: PropertyKey): z.ZodType | undefined {
  const inner = unwrapSchema(schema);
  if (inner instanceof z.ZodRecord) return inner.valueType as z.ZodType;
  if (inner instanceof z.ZodArray) return inner.element as z.ZodType;
  if (!(inner instanceof z.ZodObject)) return undefined;
  const { shape, def } = inner;
  return (Object.hasOwn(shape, step) ? shape[String(step)] : def.catchall) as z.ZodType | undefined;
}

/** A key as the schema writes it: people may write it in snake_case. */
export function camelCase(key: string): string {
  return key.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The schemas below one with their paths (`session.reset`, `session.reset.mode`), in their order.
 * Lists and maps are one key each.
 */
export function schemasBelow(
  schema: z.ZodType,
  parent: string,
): { path: string; schema: z.ZodType; isSection: boolean }[] {
  const inner = unwrapSchema(schema);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([key, child]) => {
    const path = parent === '' ? key : `${parent}.${key}`;
    const below = schemasBelow(child, path);
    return [{ path, schema: child, isSection: below.length > 0 }, ...below];
  });
}
