// The keys that the configuration file may have, also those that have no default and are not set.
import type { z } from 'zod';
import { fileSchema } from './schema.ts';
import { unwrapSchema } from './unwrap-schema.ts';

/** The path of every key whose name is fixed, in the order of the schema: `session.reset.mode`. Lists and maps are one key each. */
export function knownKeys(): string[][] {
  return keysBelow(fileSchema, []);
}

function keysBelow(schema: z.ZodType, path: string[]): string[][] {
  const inner = unwrapSchema(schema);
  if (inner.def.type !== 'object') return [path];
  const { shape } = inner as z.ZodObject;
  return Object.entries(shape).flatMap(([name, child]) => keysBelow(child as z.ZodType, [...path, name]));
}
