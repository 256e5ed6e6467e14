// The settings of batches and of the provider's batches, as the configuration file states them.
import { z } from 'zod';
import { count, seconds, storedMs, timerMs } from './schema-scalars.ts';

/** The most requests and bytes that the provider takes in one batch. */
const REQUESTS_MAX = 100_000;
const BYTES_MAX = 256 * 1024 * 1024;

export const batches = z.strictObject({
  windowMs: timerMs().optional(),
  requestsMax: count(1, REQUESTS_MAX).optional(),
  bytesMax: count(1024, BYTES_MAX).optional(),
  pollMs: z.strictObject({ min: timerMs(1).optional(), max: timerMs(1).optional() }).optional(),
  settleMs: timerMs(1).optional(),
  unprovenMs: storedMs(1).optional(),
  isExclusive: z.boolean().optional(),
  deadlineSeconds: seconds().optional(),
  retention: storedMs(60_000).optional(),
});
