// How long rows are kept, as the configuration file states it.
import { z } from 'zod';
import { storedMs } from './schema-scalars.ts';

/** Less than a day would delete rows that people still need. */
const KEPT_MIN_MS = 86_400_000;
const kept = () => storedMs(KEPT_MIN_MS).optional();

export const retentionSchema = z.strictObject({
  turns: kept(),
  events: storedMs(60_000).optional(),
  messages: kept(),
  transcripts: kept(),
  idempotencyKeys: kept(),
  deliveries: kept(),
  deadLetters: kept(),
});
