// What is known of models.
import { z } from 'zod';
import { MODEL_INPUTS, THINKING_LEVELS } from '../core/models.ts';
import { count, iso, text } from './fields.ts';

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

export const KEY_STATES = ['ok', 'cooling', 'disabled'] as const;

const providerKey = z.strictObject({
  name: text.describe('The name of the key; `default`: that of `apiKey`'),
  state: z
    .enum(KEY_STATES)
    .describe(
      '`ok`: it is used; `cooling`: it is not used for a time; `disabled`: the provider has refused it, and it is not used until it is changed',
    ),
  model: text.nullable().describe('The model for which it is not used, as provider/model; null: all, or it is used'),
  until: iso.nullable().describe('When a call tests whether it can be used again; null: it is used, or disabled'),
  reason: text.nullable().describe('What the provider said; null: it is used, or that is not known'),
});

const provider = z.strictObject({
  name: text.describe('The name of the provider, as in provider/model'),
  api: text.describe('The API that it speaks'),
  baseUrl: text.nullable().describe('Where it is asked; null: at the address that its API or its package knows'),
  keys: z.array(providerKey).describe('Its keys, with the longest wait of each'),
});
export type ProviderView = z.output<typeof provider>;

export const providers = z.strictObject({
  items: z.array(provider).describe('The providers of the configuration; those of plugins are not among them'),
});

/** What a probe finds. */
export const PROBE_CODES = [
  'ok',
  'not_configured',
  'key_refused',
  'wrong_address',
  'model_unknown',
  'package_missing',
  'tls',
  'unreachable',
  'quota',
  'limited',
  'failed',
] as const;

export const probeRequest = z.strictObject({
  model: z
    .string()
    .min(1)
    .max(300)
    .describe('A provider, or a model as `provider/model`, which is asked for a few tokens'),
});

export const modelProbe = z.strictObject({
  model: text.describe('What was probed'),
  code: z.enum(PROBE_CODES).describe('What was found; ok: it answers'),
  text: text.describe('The same in one sentence, with what to do'),
  listed: count.nullable().describe('How many models the provider lists; null: it lists none, or did not answer'),
});
export type ModelProbe = z.output<typeof modelProbe>;
