// The part of the configuration file that limits how fast models are asked: `models.limits`.
import { z } from 'zod';
import { count, LIST_MAX, word } from './schema-scalars.ts';

const PER_MINUTE_MAX = 1_000_000_000;
const perMinute = count(1, PER_MINUTE_MAX).exactOptional();

const limit = z
  .strictObject({
    model: word.refine(
      (name) => /^[^/]+\/./.test(name),
      'a model as "provider/model", in which * stands for any text, such as "anthropic/claude-sonnet-*"',
    ),
    requestsPerMinute: perMinute,
    inputTokensPerMinute: perMinute,
    outputTokensPerMinute: perMinute,
    batchSharePercent: count(1, 100).default(100),
    counts: z.enum(['uncached', 'all']).default('uncached'),
  })
  .refine(
    ({ requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute }) =>
      requestsPerMinute !== undefined || inputTokensPerMinute !== undefined || outputTokensPerMinute !== undefined,
    'at least one of requestsPerMinute, inputTokensPerMinute and outputTokensPerMinute',
  );

export const limitsSchema = z
  .array(limit)
  .max(LIST_MAX)
  .superRefine((rows, context) => {
    const seen = new Set<string>();
    for (const [at, { model }] of rows.entries()) {
      if (seen.has(model)) {
        const message = 'a model that no limit before has; put all figures of a model into one limit';
        context.addIssue({ code: 'custom', path: [at, 'model'], message, input: model });
      }
      seen.add(model);
    }
  });
