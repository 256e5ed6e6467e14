// The shape of `plugins`: their modules alone, or each with its settings.
import { z } from 'zod';
import { path } from './schema-scalars.ts';

const modules = z.array(path).max(100);

/** Plugins: their modules alone, or each with its settings. */
export const pluginsSchema = z.union([
  modules.transform((list) => ({ modules: list })),
  z.strictObject({
    modules: modules.optional(),
    entries: z
      .record(
        z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'the id of a plugin'),
        z.strictObject({
          enabled: z.boolean().optional(),
          hooks: z.strictObject({ allowPromptInjection: z.boolean().optional() }).optional(),
          config: z.record(z.string(), z.unknown()).optional(),
        }),
      )
      .optional(),
  }),
]);
