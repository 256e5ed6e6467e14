import { isObject } from '../../../core/json.ts';

/** Keywords that OpenAI's strict form has not. */
const LOOSE =
  'oneOf allOf not default minProperties maxProperties uniqueItems minLength maxLength format pattern'.split(' ');
/** Each part says by one of them what it is. */
const KINDS = ['type', 'anyOf', '$ref'];

/**
 * True for a schema in OpenAI's strict form: every object names all of its fields, and all of them
 * are required.
 */
export function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (LOOSE.some((keyword) => keyword in schema) || !KINDS.some((keyword) => keyword in schema)) return false;
  const { type, properties = {}, required = [], additionalProperties, items, anyOf = [] } = schema;
  const { $defs = {}, definitions = {} } = schema;
  const fields = Object.keys(properties as object);
  if ([type].flat().includes('object')) {
    if (additionalProperties !== false || !fields.every((name) => (required as string[]).includes(name))) return false;
  }
  const inner = [properties, $defs, definitions].flatMap((named) => Object.values(named as object) as unknown[]);
  return [...inner, ...(anyOf as unknown[]), ...(items === undefined ? [] : [items])].every(isStrict);
}
