// The part of the configuration file that says what models cost: `models.prices`.
import { z } from 'zod';
import { isWholePrice } from '../core/prices/price-row.ts';
import { count, LIST_MAX, text, word } from './schema-scalars.ts';

const PRICE_MAX = 1_000_000;
const ALLOWED_PRICE = `dollars per million tokens from 0 to ${PRICE_MAX}, with at most three decimals`;

const price = z.number().refine((value) => value >= 0 && value <= PRICE_MAX && isWholePrice(value), ALLOWED_PRICE);

const day = z.string().refine(isDay, 'a day in UTC such as "2026-10-07"');

const prices = {
  inputPerMTok: price,
  outputPerMTok: price,
  cacheReadPerMTok: price.optional(),
  cacheWrite5mPerMTok: price.optional(),
  cacheWrite1hPerMTok: price.optional(),
};

const row = z
  .strictObject({
    model: word.refine(
      (name) => /^[^/]+\/./.test(name),
      'a model as "provider/model", in which * stands for any text, such as "anthropic/claude-sonnet-*"',
    ),
    from: day.optional(),
    to: day.optional(),
    ...prices,
    longPrompt: z.strictObject({ overTokens: count(1, 100_000_000), ...prices }).optional(),
    batchPercent: count(0, 1000).optional(),
    source: text.optional(),
    checkedAt: day.optional(),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ['to'],
    error: 'a day that is not before `from`',
  });

export const pricesSchema = z
  .array(row)
  .max(LIST_MAX)
  .superRefine((rows, context) => {
    const seen = new Set<string>();
    for (const [at, { model, from }] of rows.entries()) {
      const identity = `${model} ${from ?? ''}`;
      if (seen.has(identity)) {
        const message = 'a model and a first day (`from`) that no row before has together';
        context.addIssue({ code: 'custom', path: [at, 'model'], message, input: model });
      }
      seen.add(identity);
    }
  });

function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text;
}
