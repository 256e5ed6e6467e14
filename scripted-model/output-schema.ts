// Structured output: a scripted text that is JSON is the answer, whether it fits the schema or not.
// Any other text gives way to the smallest value that fits, so that prompts without directives work
// too.
import { isRecord } from './wire.ts';

const DEPTH_MAX = 20;

/** The text of an answer that has to be JSON. */
export function fitText(text: string, schema: Record<string, unknown>): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(smallestValue(schema, schema, 0));
  }
}

/** The smallest value that fits a JSON schema. */
function smallestValue(schema: unknown, root: Record<string, unknown>, depth: number): unknown {
  if (!isRecord(schema) || depth > DEPTH_MAX) return null;
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const target = typeof schema['$ref'] === 'string' ? referenceOf(schema['$ref'], root) : alternativeOf(schema);
  if (target !== undefined) return smallestValue(target, root, depth + 1);
  const types: unknown[] = [schema['type']].flat();
  const ofProperties = isRecord(schema['properties']) ? 'object' : 'null';
  switch (typeof types[0] === 'string' ? types[0] : ofProperties) {
    case 'object': {
      const properties = isRecord(schema['properties']) ? schema['properties'] : {};
      const names = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
      return Object.fromEntries(names.map((name) => [name, smallestValue(properties[name], root, depth + 1)]));
    }
    case 'array':
      return Array.from({ length: Number(schema['minItems'] ?? 0) }, () =>
        smallestValue(schema['items'], root, depth + 1),
      );
    case 'string':
      return 'x'.repeat(Number(schema['minLength'] ?? 0));
    case 'integer':
    case 'number':
      if ('exclusiveMinimum' in schema) return Math.floor(Number(schema['exclusiveMinimum'])) + 1;
      return Math.ceil(Number(schema['minimum'] ?? Math.min(0, Number(schema['maximum'] ?? 0))));
    case 'boolean':
      return false;
    default:
      return null;
  }
}

function alternativeOf(schema: Record<string, unknown>): unknown {
  const alternatives = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => schema[name] ?? []);
  return alternatives[0];
}

/** What `#/$defs/item` means. */
function referenceOf(reference: string, root: Record<string, unknown>): unknown {
  let value: unknown = root;
  for (const name of reference.split('/').slice(1)) value = isRecord(value) ? value[name] : undefined;
  return value;
}
