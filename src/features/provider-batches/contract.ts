// Submissions to the provider on the wire.
import { z } from 'zod';
import { SUBMISSION_STATUSES } from './rules/submission.ts';
import { tokenCounts } from '../../contract/costs.ts';
import { text, flag, amount, uuid, iso, count, createdAt } from '../../contract/fields.ts';

export const providerBatch = z.strictObject({
  id: uuid.describe('The id of the submission'),
  providerId: text.nullable().describe("The provider's id of the batch; null: it is not known, or there is none"),
  status: z.enum(SUBMISSION_STATUSES).describe('What happens to the submission'),
  isAdopted: flag.describe(
    "Whether it was found in the provider's list, because the answer that submitted it was lost",
  ),
  requestCount: count.describe('The number of its requests'),
  counts: z.record(text, count).nullable().describe("The provider's counts of requests, by status; null: not known"),
  wasted: z
    .strictObject({
      answers: count.describe('The number of these answers'),
      ...tokenCounts,
    })
    .nullable()
    .describe('The tokens of paid answers that no turn uses; null: there are none'),
  wastedUsd: amount.describe('The cost of these answers in US dollars; null: there are none, or the cost is not known'),
  error: text.nullable().describe('The last error; null: none'),
  createdAt,
  submittedAt: iso.nullable().describe('When the provider accepted it; null: not known'),
  expiresAt: iso.nullable().describe('When the provider gives it up; null: not known'),
  endedAt: iso.nullable().describe('When the provider ended it; null: it has not'),
});
export type ProviderBatchView = z.output<typeof providerBatch>;
