// Dead letters on the wire: failed work, and an operator's decisions about it.
import { z } from 'zod';
import { LETTER_KINDS, pacing } from './bulk-actions.ts';

const uuid = z.uuid();
const iso = z.iso.datetime();
const count = z.int().min(0);
const IDS_MAX = 500;

export const deadLetter = z.strictObject({
  id: uuid,
  kind: z.string(),
  sessionKey: z.string().nullable(),
  turnId: uuid.nullable(),
  deliveryId: uuid.nullable(),
  code: z.string(),
  reason: z.string(),
  state: z.enum(['open', 'redriven', 'discarded']),
  createdAt: iso,
  settledAt: iso.nullable(),
});
export type DeadLetterView = z.output<typeof deadLetter>;

export const deadLetterGroup = z.strictObject({
  kind: z.string(),
  code: z.string(),
  count,
  firstAt: iso,
  lastAt: iso,
  perHour: z.strictObject({ startsAt: iso, counts: z.array(count) }),
  letters: z.array(deadLetter),
});
export type DeadLetterGroupView = z.output<typeof deadLetterGroup>;

/** An error code as a filter. */
export const letterCode = z.string().min(1).max(200);

/** A filter of open letters, which must match every field, and the rate at which they are processed. */
export const letterFilter = z
  .strictObject({
    ...pacing,
    ids: z.array(uuid).min(1).max(IDS_MAX).exactOptional(),
    kind: z.enum(LETTER_KINDS).exactOptional(),
    code: letterCode.exactOptional(),
  })
  .refine(({ ids, kind, code }) => [ids, kind, code].some((value) => value !== undefined), {
    error: 'expected ids, kind or code, at least one of them',
  });

export const redrivenLetters = z.strictObject({
  redriven: count,
  skipped: count,
  remaining: count.describe(
    'Open letters that match this request and were not processed; send it again for them. Without those of batch items, which come last and are skipped',
  ),
  letters: z.array(
    z.strictObject({
      id: uuid,
      result: z.enum(['redriven', 'skipped']),
      reason: z.string().nullable(),
      messageIds: z.array(uuid).describe('The messages that wait because of it'),
    }),
  ),
});
export type RedrivenLetters = z.output<typeof redrivenLetters>;

export const discardedLetters = z.strictObject({ discarded: count });
export type DiscardedLetters = z.output<typeof discardedLetters>;
