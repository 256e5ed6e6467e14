// Submissions to the provider on the wire.
import { z } from 'zod';
import { SUBMISSION_STATUSES } from '../core/provider-batch/submission-status.ts';

const iso = z.iso.datetime();
const count = z.int().min(0);

export const providerBatch = z.strictObject({
  id: z.uuid(),
  providerId: z.string().nullable(),
  status: z.enum(SUBMISSION_STATUSES),
  isAdopted: z.boolean(),
  requestCount: count,
  counts: z.record(z.string(), count).nullable(),
  wasted: z
    .strictObject({
      answers: count,
      inputTokens: count,
      outputTokens: count,
      cacheReadTokens: count,
      cacheWriteTokens: count,
    })
    .nullable(),
  wastedUsd: z.number().nullable(),
  error: z.string().nullable(),
  createdAt: iso,
  submittedAt: iso.nullable(),
  expiresAt: iso.nullable(),
  endedAt: iso.nullable(),
});
export type ProviderBatchView = z.output<typeof providerBatch>;
