// Blocks of models on the wire.
import { z } from 'zod';
import { text, iso, reason } from './fields.ts';

export const unblockRequest = z.strictObject({
  model: z
    .string()
    .max(200)
    .regex(/^[^/\s]+\/\S+$/, 'expected provider/model, as the list of the blocks has it')
    .exactOptional()
    .describe('The model, as provider/model; absent: all models'),
  reason,
});

export const modelBlock = z.strictObject({
  model: text.describe('The model that no worker calls, as provider/model'),
  kind: z
    .enum(['asked', 'away'])
    .describe('`asked`: the provider has asked to wait; `away`: it does not answer, and single calls test it'),
  since: iso.describe('When the block began'),
  until: iso.describe('When the calls resume, or the next call tests a model that is away'),
  text: text.nullable().describe('The answer of the provider, or the last error; null: not known'),
});
export type BlockView = z.output<typeof modelBlock>;

export const modelBlocks = z.strictObject({
  items: z.array(modelBlock).describe('The blocks in force; empty: there is none'),
});

export const unblocked = z.strictObject({
  lifted: z.array(modelBlock).describe('The blocks that this request lifted; empty: there was none'),
  remaining: z.array(modelBlock).describe('The blocks that remain'),
});
