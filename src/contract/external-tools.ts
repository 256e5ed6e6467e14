// Calls of external tools on the wire.
import { z } from 'zod';
import { iso, text, uuid } from './fields.ts';

const CONTENT_CHARS_MAX = 1_000_000;

export const externalCall = z.strictObject({
  id: text.describe('The id of the call'),
  status: z
    .enum(['waiting', 'answered', 'expired', 'cancelled'])
    .describe('`expired`: its time was over without a result; `cancelled`: its turn has ended before'),
  turnId: uuid.describe('The turn that waits'),
  sessionKey: text.describe('The session of the turn'),
  callId: text.describe("The model's id of the call"),
  tool: text.describe('The external tool that was called'),
  input: z
    .record(text, z.unknown())
    .describe('The input that the model has written, which fits the schema of the tool'),
  requestedAt: iso.describe('When the call was made'),
  expiresAt: iso.describe('From when no result is accepted'),
  endedAt: iso.nullable().describe('When it got its result; null: it has none yet'),
});
export type ExternalCallView = z.output<typeof externalCall>;

export const externalResult = z.strictObject({
  content: z
    .string()
    .max(CONTENT_CHARS_MAX)
    .describe('The result as text. The model reads up to 36,000 characters of it, as words of others'),
  isError: z.boolean().exactOptional().describe('Whether the call has failed; absent: it has not'),
});
