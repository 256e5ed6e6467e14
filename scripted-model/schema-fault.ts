// What is wrong with the JSON Schema of a tool by draft 2020-12, in the parts that providers check.
import { isRecord } from './wire.ts';

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const AS_ONE = 'items contains additionalProperties propertyNames not if then else'.split(' ');
const IN_LIST = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const BY_NAME = ['properties', 'patternProperties', '$defs', 'definitions'];
const NUMBERS = 'minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems'.split(' ');
const TEXTS = ['title', 'description', 'format', 'pattern', '$ref'];

/** In words; null: nothing. */
export function schemaFaultOf(schema: unknown): string | null {
  if (typeof schema === 'boolean') return null;
  if (!isRecord(schema)) return `${JSON.stringify(schema)} is not of type 'object', 'boolean'`;
  const { type, required } = schema;
  if (type !== undefined && ![type].flat().every((one) => TYPES.includes(one)))
    return `${JSON.stringify(type)} is not valid under any of the given schemas`;
  if (required !== undefined && !(Array.isArray(required) && required.every((name) => typeof name === 'string')))
    return `${JSON.stringify(required)} is not of type 'array'`;
  for (const [keyword, value] of Object.entries(schema)) {
    const fault = keywordFault(keyword, value);
    if (fault !== null) return fault;
  }
  return null;
}

function keywordFault(keyword: string, value: unknown): string | null {
  const wrong = (type: string) => `${JSON.stringify(value)} is not of type '${type}'`;
  if (AS_ONE.includes(keyword)) return schemaFaultOf(value);
  if (TEXTS.includes(keyword)) return typeof value === 'string' ? null : wrong('string');
  if (NUMBERS.includes(keyword)) return typeof value === 'number' ? null : wrong('number');
  if (IN_LIST.includes(keyword)) {
    if (!Array.isArray(value) || value.length === 0) return wrong('array');
    return value.map(schemaFaultOf).find((fault) => fault !== null) ?? null;
  }
  if (!BY_NAME.includes(keyword)) return null;
  if (!isRecord(value)) return wrong('object');
  return (
    Object.values(value)
      .map(schemaFaultOf)
      .find((fault) => fault !== null) ?? null
  );
}
