// The form in which a message asks for its answer: JSON that fits a schema. What such a schema may
// say is bounded, so that a worker can check any answer against any accepted schema in little time:
// no references that repeat themselves, and no patterns that run on a model's text.
import { isObject, holdsKeptInteger } from './json.ts';
import { cutHead } from './text.ts';

export interface ResponseFormat {
  type: 'json_schema';
  /** JSON Schema of type object. */
  schema: Record<string, unknown>;
  /** For the model; absent: `answer`. */
  name?: string;
}

/** The longest schema, as JSON. */
export const SCHEMA_CHARS_MAX = 32_768;
/** The most schemas in a schema, with each reference counted as what it means. */
const PARTS_MAX = 2_000;
/** How deep they may be inside each other: a validator nests its code as deep. */
const DEPTH_MAX = 50;
/**
 * How many may apply to one value, as those of an `anyOf` do: each of them is tried on each entry
 * of a list.
 */
const CHOICES_MAX = 100;

/** Keywords whose value is data. Of these, `format` and `pattern` are for the model alone. */
const PLAIN =
  'type enum const required minItems maxItems uniqueItems minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minProperties maxProperties title description default examples $schema $comment format pattern'.split(
    ' ',
  );
const OF_ONE = ['items', 'additionalProperties', 'not'];
const OF_LIST = ['anyOf', 'oneOf', 'allOf'];
/** Their schemas are for the value itself, not for a part of it. */
const OF_SAME: readonly unknown[] = ['not', ...OF_LIST];
const OF_NAMES = ['properties', '$defs', 'definitions'];
const KEYWORDS = [...PLAIN, ...OF_ONE, ...OF_LIST, ...OF_NAMES, '$ref'];
const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];

/** What keeps a schema from being used, with its place in the schema; null: nothing. */
export interface SchemaFault {
  path: (string | number)[];
  message: string;
}

/** `what` is of this schema, for people. */
export function findSchemaFault(schema: Record<string, unknown>, what = 'the answer'): SchemaFault | null {
  const { length } = JSON.stringify(schema);
  if (length > SCHEMA_CHARS_MAX)
    return { path: [], message: `expected at most ${SCHEMA_CHARS_MAX} characters of JSON, got ${length}` };
  if (schema['type'] !== 'object')
    return { path: ['type'], message: `expected "object": ${what} is a JSON object, got ${show(schema['type'])}` };
  if (holdsKeptInteger(schema)) return { path: [], message: 'it has an integer that is too large to be compared' };
  return findFault(schema, {
    root: schema,
    path: [],
    references: [],
    depth: 0,
    value: { choices: CHOICES_MAX },
    left: { parts: PARTS_MAX },
  });
}

interface Place {
  root: Record<string, unknown>;
  path: readonly (string | number)[];
  /** The references that led here. */
  references: readonly string[];
  /** How many schemas are around this one. */
  depth: number;
  /** How many more may apply to the same value. */
  value: { choices: number };
  left: { parts: number };
}

function findFault(schema: unknown, place: Place): SchemaFault | null {
  const at = (message: string, ...names: (string | number)[]): SchemaFault => ({
    path: [...place.path, ...names],
    message,
  });
  if (typeof schema === 'boolean') return null;
  if (!isObject(schema)) return at(`expected a schema: an object, true or false, got ${show(schema)}`);
  place.left.parts -= 1;
  if (place.left.parts < 0) return at(`the schema has more than ${PARTS_MAX} parts, with its references followed`);
  place.value.choices -= 1;
  if (place.value.choices < 0) return at(`more than ${CHOICES_MAX} schemas apply to the same value`);
  if (place.depth > DEPTH_MAX) return at(`more than ${DEPTH_MAX} schemas are inside each other`);
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KEYWORDS.includes(keyword))
      return at(`the keyword ${show(keyword)} is not supported; allowed: ${KEYWORDS.join(', ')}`, keyword);
    const fault = plainFault(keyword, value);
    if (fault !== null) return at(`${fault}, got ${show(value)}`, keyword);
  }
  const depth = place.depth + 1;
  for (const [inner, ...path] of innerSchemas(schema)) {
    const value = OF_SAME.includes(path[0]) ? place.value : { choices: CHOICES_MAX };
    const fault = findFault(inner, { ...place, depth, value, path: [...place.path, ...path] });
    if (fault !== null) return fault;
  }
  return referenceFault(schema['$ref'], place);
}

function plainFault(keyword: string, value: unknown): string | null {
  if (/^(?:min|max)(?:Items|Length|Properties)$/.test(keyword))
    return Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'expected an integer of 0 or more';
  if (/^(?:exclusive)?(?:minimum|maximum)$/i.test(keyword))
    return typeof value === 'number' ? null : 'expected a number';
  switch (keyword) {
    case 'type':
      return [value].flat().every((type) => TYPES.includes(type)) ? null : `expected one of ${TYPES.join(', ')}`;
    case 'enum':
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return Array.isArray(value) && value.length > 0 ? null : 'expected a list with at least one entry';
    case 'required':
      return isTexts(value) ? null : 'expected a list of names';
    case 'properties':
    case '$defs':
    case 'definitions':
      return isObject(value) ? null : 'expected an object of schemas';
    case 'uniqueItems':
      return typeof value === 'boolean' ? null : 'expected true or false';
    case 'multipleOf':
      return typeof value === 'number' && value > 0 ? null : 'expected a number over 0';
    default:
      return null;
  }
}

function* innerSchemas(schema: Record<string, unknown>): Generator<[unknown, ...(string | number)[]]> {
  for (const name of OF_ONE) if (name in schema) yield [schema[name], name];
  for (const name of OF_LIST)
    for (const [at, inner] of ((schema[name] ?? []) as unknown[]).entries()) yield [inner, name, at];
  for (const name of OF_NAMES) for (const [key, inner] of Object.entries(schema[name] ?? {})) yield [inner, name, key];
}

/**
 * A reference is followed where it stands: one that leads to itself has no end, and others may
 * double what is to be checked.
 */
function referenceFault(reference: unknown, place: Place): SchemaFault | null {
  if (reference === undefined) return null;
  const path = [...place.path, '$ref'];
  const [, group = '', name = ''] =
    typeof reference === 'string' ? (/^#\/(\$defs|definitions)\/([^/~%]+)$/.exec(reference) ?? []) : [];
  const named = place.root[group];
  if (!isObject(named) || !Object.hasOwn(named, name))
    return { path, message: `expected the name of a definition, such as "#/$defs/item", got ${show(reference)}` };
  if (place.references.includes(name))
    return { path, message: `${show(reference)} leads to itself: schemas must have an end` };
  const depth = place.depth + 1;
  return findFault(named[name], { ...place, depth, path, references: [...place.references, name] });
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function show(value: unknown): string {
  const json = value === undefined ? 'nothing' : JSON.stringify(value);
  return cutHead(json, 100);
}
