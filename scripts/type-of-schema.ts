// JSON Schemas as they stand in the OpenAPI document, written as TypeScript types.
type Json = Record<string, unknown>;

const COMPONENT_PREFIX = '#/components/schemas/';
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const INDENT = '  ';

/** The type of a schema. `indent` is the indentation of the line that the type begins on. */
export function typeOfSchema(schema: unknown, indent = ''): string {
  const json = schema as Json;
  if (typeof json['$ref'] === 'string') return `Schemas['${json['$ref'].replace(COMPONENT_PREFIX, '')}']`;
  if ('const' in json) return literalOf(json['const']);
  if (Array.isArray(json['enum'])) return json['enum'].map(literalOf).join(' | ');
  const variants = json['anyOf'] ?? json['oneOf'];
  if (Array.isArray(variants)) return unionOf(variants.map((variant) => typeOfSchema(variant, indent)));
  if (Array.isArray(json['type'])) return unionOf(json['type'].map((type) => typeOfSchema({ ...json, type }, indent)));
  switch (json['type']) {
    case 'string':
    case 'boolean':
    case 'null':
      return json['type'];
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return arrayOf(typeOfSchema(json['items'] ?? {}, indent));
    case 'object':
      return typeOfObject(json, indent);
    default:
      return 'unknown';
  }
}

/** One field of an object type, with its description; `name?` is written by `isOptional`. */
export function fieldOf(
  field: { name: string; type: string; isOptional: boolean; description: unknown },
  indent: string,
): string {
  const name = IDENTIFIER.test(field.name) ? field.name : literalOf(field.name);
  return `${commentOf(field.description, indent)}${indent}${name}${field.isOptional ? '?' : ''}: ${field.type};`;
}

/** A description as a comment of its own lines; empty without one. */
export function commentOf(description: unknown, indent: string): string {
  if (typeof description !== 'string' || description === '') return '';
  return `${indent}/** ${description.replaceAll('*/', '*\\/').replaceAll(/\s*\n\s*/g, ' ')} */\n`;
}

export function unionOf(types: string[]): string {
  return [...new Set(types)].join(' | ');
}

function typeOfObject(json: Json, indent: string): string {
  const properties = Object.entries((json['properties'] ?? {}) as Record<string, Json>);
  const rest = json['additionalProperties'];
  const hasRest = typeof rest === 'object' && rest !== null;
  if (properties.length === 0) {
    return hasRest ? `Record<string, ${typeOfSchema(rest, indent)}>` : 'Record<string, never>';
  }
  const required = new Set((json['required'] ?? []) as string[]);
  const inner = indent + INDENT;
  const lines = properties.map(([name, property]) =>
    fieldOf(
      {
        name,
        type: typeOfSchema(property, inner),
        isOptional: !required.has(name),
        description: property['description'],
      },
      inner,
    ),
  );
  // Further fields may be of any type: an index signature has to admit the named ones, too.
  if (hasRest) lines.push(`${inner}[field: string]: unknown;`);
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function arrayOf(item: string): string {
  return /^[\w$]+(?:\['\w+'\])?$/.test(item) || (item.startsWith('{') && !item.includes('} | ') && item.endsWith('}'))
    ? `${item}[]`
    : `(${item})[]`;
}

function literalOf(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value);
}
