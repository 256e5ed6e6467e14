// JSON Schemas of others, such as those of tools: what holds further schemas, and a schema without
// what no provider takes. Providers refuse a whole request for one keyword of one tool. A schema
// only advises the model; who runs the tool checks its input.
import { isObject, isKeptInteger } from './json.ts';

export type JsonSchema = Record<string, unknown>;

/** The keywords whose values hold schemas: by name, in a list, or as one. */
const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const IN_LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const AS_ONE =
  'items additionalItems unevaluatedItems contains additionalProperties unevaluatedProperties propertyNames not if then else'.split(
    ' ',
  );

/** Deeper schemas take anything. */
const DEPTH_MAX = 64;
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** Changes the schemas right below a schema; returns the same object when none is changed. */
export function changeSubschemas(schema: JsonSchema, change: (inner: JsonSchema) => JsonSchema): JsonSchema {
  const changed = (value: unknown): unknown => (isSchemaObject(value) ? change(value) : value);
  return changeFields(schema, (value, keyword) => {
    if (AS_ONE.includes(keyword)) return changed(value);
    if (IN_LIST.includes(keyword) && Array.isArray(value)) return sameOr(value, value.map(changed));
    if (BY_NAME.includes(keyword) && isSchemaObject(value)) return changeFields(value, changed);
    return value;
  });
}

/**
 * Changes the fields of an object, and leaves out those that become undefined; returns the same
 * object when none is changed.
 */
export function changeFields(fields: JsonSchema, change: (value: unknown, name: string) => unknown): JsonSchema {
  const before = Object.entries(fields);
  const after = before.map(([name, value]) => [name, change(value, name)] as const);
  if (after.every(([, value], at) => value === before[at]?.[1])) return fields;
  return Object.fromEntries(after.filter(([, value]) => value !== undefined));
}

function sameOr(before: readonly unknown[], after: readonly unknown[]): readonly unknown[] {
  return after.length === before.length && after.every((value, at) => value === before[at]) ? before : after;
}

/** An integer that is kept with its digits is an object, too. */
export function isSchemaObject(value: unknown): value is JsonSchema {
  return isObject(value) && !isKeptInteger(value);
}

/** The part of a schema that a pointer names, such as `#/$defs/item`; undefined: there is none. */
export function findReferenced(root: JsonSchema, reference: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined;
  return pathOf(reference).reduce<unknown>(
    (at, name) =>
      Array.isArray(at) ? at[Number(name)] : isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined,
    root,
  );
}

/** The names in a pointer. */
export function pathOf(reference: string): string[] {
  return reference
    .split('/')
    .slice(1)
    .map((name) => decoded(name).replaceAll('~1', '/').replaceAll('~0', '~'));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * The schema in the form of draft 2020-12, without what no such schema has: null and values of
 * another type, such as the empty list that PHP makes of an empty object; unknown types; references
 * that lead nowhere. Keywords that it does not know stay. Returns the same object when nothing is
 * wrong.
 */
export function tidySchema<Schema extends JsonSchema>(schema: Schema): Schema {
  // Only keywords are changed, and a right `type` is none of them.
  return tidy(schema, schema, 0) as Schema;
}

function tidy(schema: JsonSchema, root: JsonSchema, depth: number): JsonSchema {
  if (depth > DEPTH_MAX) return {};
  const modern = fromEarlierDrafts(schema);
  const right = changeFields(modern, (value, keyword) => {
    if (AS_ONE.includes(keyword)) return isSchema(value) ? value : undefined;
    if (IN_LIST.includes(keyword)) return listOf(value, isSchema);
    if (BY_NAME.includes(keyword)) return schemasByName(value);
    const check = Object.hasOwn(CHECKS, keyword) ? CHECKS[keyword] : undefined;
    if (keyword === '$ref') return leadsSomewhere(root, value) ? value : undefined;
    return check === undefined ? value : check(value);
  });
  const inner = changeSubschemas(right, (each) => tidy(each, root, depth + 1));
  // OpenAI and Google refuse a list that does not say of what.
  return inner['type'] === 'array' && inner['items'] === undefined ? { ...inner, items: {} } : inner;
}

/** Drafts before 2020-12 have a list as `items`, and a mark beside `minimum` and `maximum`. */
function fromEarlierDrafts(schema: JsonSchema): JsonSchema {
  const { items, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  let modern = schema;
  if (Array.isArray(items)) modern = { ...without(modern, 'items'), prefixItems: items };
  if (exclusiveMinimum === true) modern = { ...without(modern, 'minimum'), exclusiveMinimum: minimum };
  if (exclusiveMaximum === true) modern = { ...without(modern, 'maximum'), exclusiveMaximum: maximum };
  return modern;
}

function without(schema: JsonSchema, left: string): JsonSchema {
  return changeFields(schema, (value, keyword) => (keyword === left ? undefined : value));
}

function isSchema(value: unknown): boolean {
  return typeof value === 'boolean' || isSchemaObject(value);
}

function schemasByName(value: unknown): unknown {
  if (Array.isArray(value) && value.length === 0) return {};
  return isSchemaObject(value) ? changeFields(value, (each) => (isSchema(each) ? each : {})) : undefined;
}

/** A reference by an anchor is not followed here. */
function leadsSomewhere(root: JsonSchema, reference: unknown): boolean {
  if (typeof reference !== 'string') return false;
  return /^#[^/]/.test(reference) || isSchema(findReferenced(root, reference));
}

/** The right items of a list that is not empty. */
function listOf(value: unknown, isRight: (item: unknown) => boolean): unknown {
  if (!Array.isArray(value)) return undefined;
  const right = [...new Set(value.filter(isRight))];
  return right.length === 0 ? undefined : sameOr(value, right);
}

function typeOf(value: unknown): unknown {
  if (Array.isArray(value)) return listOf(value, (each) => TYPES.includes(each as string));
  if (typeof value !== 'string') return undefined;
  const lower = value.toLowerCase();
  return TYPES.includes(lower) ? lower : undefined;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const onlyIf =
  (isRight: (value: unknown) => boolean) =>
  (value: unknown): unknown =>
    isRight(value) ? value : undefined;
const text = onlyIf(isText);
const flag = onlyIf((value) => typeof value === 'boolean');
const bound = onlyIf((value) => typeof value === 'number' || isKeptInteger(value));
const count = onlyIf((value) => Number.isInteger(value) && (value as number) >= 0);

/** What else a keyword may have as its value. */
const CHECKS: Readonly<Record<string, (value: unknown) => unknown>> = {
  type: typeOf,
  enum: (value) => (Array.isArray(value) && value.length > 0 ? value : undefined),
  required: (value) => (Array.isArray(value) ? sameOr(value, [...new Set(value.filter(isText))]) : undefined),
  dependentRequired: (value) =>
    isSchemaObject(value) ? changeFields(value, (names) => listOf(names, isText)) : undefined,
  pattern: onlyIf(isPattern),
  ...Object.fromEntries('title description format $id $schema $anchor $comment'.split(' ').map((name) => [name, text])),
  ...Object.fromEntries('uniqueItems deprecated readOnly writeOnly'.split(' ').map((name) => [name, flag])),
  ...Object.fromEntries('minimum maximum exclusiveMinimum exclusiveMaximum'.split(' ').map((name) => [name, bound])),
  multipleOf: onlyIf((value) => typeof value === 'number' && value > 0),
  ...Object.fromEntries(
    'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains'
      .split(' ')
      .map((name) => [name, count]),
  ),
};

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    new RegExp(value, 'u');
    return true;
  } catch {
    return false;
  }
}
