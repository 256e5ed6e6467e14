// Unwraps a schema of the configuration file down to the object with the keys.
import type { z } from 'zod';

/** The schema below `optional`, `default` and `transform`; where there is a short form in addition to an object, the object. */
export function unwrapSchema(schema: z.ZodType): z.ZodType {
  const { def } = schema as z.ZodType & { def: { innerType?: z.ZodType; in?: z.ZodType; options?: z.ZodType[] } };
  const object = def.options?.find((option) => option.def.type === 'object');
  const next = def.innerType ?? (schema.def.type === 'pipe' ? def.in : object);
  return next === undefined ? schema : unwrapSchema(next);
}
