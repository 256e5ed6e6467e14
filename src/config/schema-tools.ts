// The shape of `tools`: which there are, and the limits of those that have some.
import { z } from 'zod';
import { count, host, LIST_MAX, names, seconds, toolPolicy, word } from './schema-scalars.ts';

/** `tools` of the file. */
export const toolsSchema = z.strictObject({
  ...toolPolicy,
  exec: z
    .strictObject({
      enabled: z.boolean().optional(),
      timeoutSeconds: seconds().optional(),
      backgroundSeconds: seconds().optional(),
      sandbox: z.literal('off').optional(),
      user: z.union([word, count(0, 4_294_967_294)]).optional(),
    })
    .optional(),
  fetch: z
    .strictObject({
      enabled: z.boolean().optional(),
      timeoutSeconds: seconds().optional(),
      maxBytes: count(1, 100_000_000).optional(),
      allowPrivate: z.array(host).max(LIST_MAX).optional(),
    })
    .optional(),
  message: z.strictObject({ enabled: z.boolean().optional(), channels: names.optional() }).optional(),
  sessions: z.strictObject({ visibility: z.enum(['self', 'tree', 'agent', 'all']).optional() }).optional(),
  agentToAgent: z.strictObject({ enabled: z.boolean().optional(), allow: names.optional() }).optional(),
  loopDetection: z.strictObject({ unknownToolThreshold: count(1, 1000).optional() }).optional(),
});
