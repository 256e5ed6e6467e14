// Blocks of models on the wire.
import { z } from 'zod';

export const unblockRequest = z.strictObject({
  model: z
    .string()
    .max(200)
    .regex(/^[^/\s]+\/\S+$/, 'expected provider/model, as the list of the blocks has it')
    .exactOptional(),
  reason: z.string().trim().min(1).max(500).exactOptional(),
});

export const modelBlock = z.strictObject({
  model: z.string(),
  kind: z.enum(['asked', 'away']),
  since: z.iso.datetime(),
  until: z.iso.datetime(),
  text: z.string().nullable(),
});
export type BlockView = z.output<typeof modelBlock>;

export const modelBlocks = z.strictObject({ items: z.array(modelBlock) });

export const unblocked = z.strictObject({ lifted: z.array(modelBlock), remaining: z.array(modelBlock) });
