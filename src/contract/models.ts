// What is known of models.
import { z } from 'zod';
import { MODEL_INPUTS } from '../core/catalogue/catalogue.ts';
import { THINKING_LEVELS } from '../prompt/thinking-directive.ts';
import { count, text } from './fields.ts';

export const catalogueModel = z.strictObject({
  model: text.describe('The model as `provider/model`'),
  contextTokens: count.nullable().describe('The size of its window in tokens; null: not known'),
  maxOutputTokens: count.nullable().describe('The longest answer in tokens; null: not known'),
  input: z.array(z.enum(MODEL_INPUTS)).nullable().describe('What a message to it may contain; null: not known'),
  thinking: z.array(z.enum(THINKING_LEVELS)).nullable().describe('The thinking levels that it has; null: not known'),
  inputPerMTok: z.number().nullable().describe('Dollars per million tokens of input today; null: no price is known'),
  outputPerMTok: z.number().nullable().describe('Dollars per million tokens of output today; null: no price is known'),
  source: text.describe('Where the facts are from: an address, a list, or `models.catalogue` of the configuration'),
  checkedAt: text.nullable().describe('The day on which they were compared with the source last; null: not known'),
  usedBy: z.array(text).describe('The agents, aliases and crons of the configuration that name it'),
});
export type CatalogueModel = z.output<typeof catalogueModel>;

export const modelCatalogue = z.strictObject({
  items: z.array(catalogueModel).describe('The models: those of the configuration first'),
});
