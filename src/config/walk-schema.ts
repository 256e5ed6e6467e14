// Ways through the schema of the configuration and through its values: find, lay over each other, freeze.
import { z } from 'zod';
import { isObject } from '../core/json.ts';

/** Every object field optional, all the way down; arrays are replaced as a whole. */
export type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;

type WithoutDefaults<Shape extends Record<string, z.ZodType>> = {
  [Key in keyof Shape]: z.ZodExactOptional<z.ZodType<DeepPartial<z.output<Shape[Key]>>>>;
};

/** The same keys, of which each may be left out and none has a default: settings that are laid over others. */
export function withoutDefaults<Shape extends Record<string, z.ZodType>>(shape: Shape): WithoutDefaults<Shape> {
  const entries = Object.entries(shape).map(([key, schema]) => [key, unwrapOptional(schema)]);
  return Object.fromEntries(entries) as WithoutDefaults<Shape>;
}

function unwrapOptional(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)) return schema;
  const inner = schema.unwrap() as z.ZodType;
  const isSection = schema instanceof z.ZodPrefault && inner instanceof z.ZodObject;
  const bare = isSection ? z.strictObject(withoutDefaults(inner.shape as Record<string, z.ZodType>)) : inner;
  return bare.exactOptional();
}

/** The schema below what can be omitted, has a default or is transformed; where there is a short form in addition to an object, the object. */
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

/** The schemas below one with their paths (`session.reset`, `session.reset.mode`), in their order. Lists and maps are one key each. */
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

/** Freezes plain objects and arrays without cycles all the way down, so that they can be shared without copies, and returns the same value. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

/**
 * A copy of `base` with `over` laid on it: objects key by key, everything else as a whole. Absent and undefined leave what is
 * there. Neither argument is changed.
 */
export function mergeOver<Base>(base: Base, over: unknown): Base {
  if (over === undefined) return structuredClone(base);
  if (!isObject(base) || !isObject(over)) return structuredClone(over) as Base;
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === '__proto__') continue;
    merged[key] = mergeOver(Object.hasOwn(merged, key) ? merged[key] : undefined, value);
  }
  return merged as Base;
}
