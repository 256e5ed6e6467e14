// Gives every field of a JSON schema its description, from `src/contract/field-descriptions.ts`.
import { FIELD_DESCRIPTIONS } from '../contract/field-descriptions.ts';

type Json = Record<string, unknown>;

/**
 * The schema with a description on each of its fields. `where` is the name of the schema or operation, and then the path to the field:
 * the most specific entry is used (`Problem.errors.path`, then `Problem.path`, then `path`).
 */
export function describeFields(schema: unknown, where: readonly string[]): unknown {
  if (Array.isArray(schema)) return schema.map((part) => describeFields(part, where));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [
      keyword,
      keyword === 'properties' ? describeProperties(value as Json, where) : describeFields(value, where),
    ]),
  );
}

function describeProperties(properties: Json, where: readonly string[]): Json {
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const described = describeFields(property, [...where, name]) as Json;
      const description = described['description'] ?? descriptionOf(name, where);
      return [name, description === undefined ? described : { ...described, description }];
    }),
  );
}

/** The description of a field or parameter of this name there; undefined: there is none. */
export function descriptionOf(name: string, where: readonly string[]): string | undefined {
  const [root = ''] = where;
  return (
    FIELD_DESCRIPTIONS[[...where, name].join('.')] ?? FIELD_DESCRIPTIONS[`${root}.${name}`] ?? FIELD_DESCRIPTIONS[name]
  );
}
