// Dead letters on the wire: failed work, and an operator's decisions about it.
import { z } from 'zod';
import { LETTER_KINDS, pacing } from '../bulk-actions/contract.ts';
import { guarded } from '../../contract/guarded.ts';
import { text, uuid, iso, count, createdAt, sessionTitle } from '../../contract/fields.ts';

const IDS_MAX = 500;

export const deadLetter = z
  .strictObject({
    id: uuid.describe('The id of the dead letter'),
    kind: text.describe('What failed: `turn`, `delivery` or `announcement`'),
    title: text.describe('What failed, in one line: what the turn answers or the delivery says, or the session'),
    sessionKey: text.nullable().describe('The key of its session; null: the session was deleted'),
    sessionTitle: sessionTitle.nullable().describe(`${sessionTitle.description}; null: it was deleted`),
    turnId: uuid.nullable().describe('The failed turn; null: it was deleted, or no turn failed'),
    deliveryId: uuid.nullable().describe('The failed delivery; null: it was deleted, or no delivery failed'),
    code: text.describe('The error code, for programs'),
    reason: text.describe('Why it failed, for people'),
    state: z.enum(['open', 'redriven', 'discarded']).describe('Whether an operator has decided about it'),
    createdAt,
    settledAt: iso.nullable().describe('When an operator decided; null: it is open'),
  })
  .register(guarded, { as: 'letter' });
export type DeadLetterView = z.output<typeof deadLetter>;

export const deadLetterGroup = z.strictObject({
  kind: text.describe('What failed: `turn`, `delivery` or `announcement`'),
  code: text.describe('The error code that the letters of the group have'),
  count: count.describe('The number of letters in the group'),
  firstAt: iso.describe('When the oldest letter was created'),
  lastAt: iso.describe('When the newest letter was created'),
  nextStep: text.nullable().describe('What a person can do about them; null: the code is not known'),
  perHour: z
    .strictObject({
      startsAt: iso.describe('When the first hour starts'),
      counts: z.array(count).describe('The letters of each hour, oldest first; the last hour is not complete'),
    })
    .describe('The letters of the group that were created in each of the last 24 hours'),
  letters: z.array(deadLetter).describe('The newest dead letters of the group'),
});
export type DeadLetterGroupView = z.output<typeof deadLetterGroup>;

/** An error code as a filter. */
export const letterCode = z.string().min(1).max(200);

/**
 * A filter of open letters, which must match every field, and the rate at which they are processed.
 */
export const letterFilter = z
  .strictObject({
    ...pacing,
    ids: z.array(uuid).min(1).max(IDS_MAX).exactOptional().describe('Only letters with these ids'),
    kind: z.enum(LETTER_KINDS).exactOptional().describe('Only letters of this kind'),
    code: letterCode.exactOptional().describe('Only letters with this error code'),
  })
  .refine(({ ids, kind, code }) => [ids, kind, code].some((value) => value !== undefined), {
    error: 'expected ids, kind or code, at least one of them',
  });

export const redrivenLetters = z.strictObject({
  redriven: count.describe('The number of letters whose work starts again'),
  skipped: count.describe('The number of letters that were skipped, each with a reason'),
  remaining: count.describe(
    'Open letters that match this request and were not processed; send it again for them. Without those of batch items, which come last and are skipped',
  ),
  letters: z
    .array(
      z.strictObject({
        id: uuid.describe('The id of the letter'),
        result: z.enum(['redriven', 'skipped']).describe('Whether its work starts again'),
        reason: text.nullable().describe('Why it was skipped; null: it was not'),
        messageIds: z.array(uuid).describe('The messages that wait because of it'),
      }),
    )
    .describe('What happened to each letter'),
});
export type RedrivenLetters = z.output<typeof redrivenLetters>;

export const discardedLetters = z.strictObject({
  discarded: count.describe('The number of letters that were discarded'),
});
export type DiscardedLetters = z.output<typeof discardedLetters>;

/** The body of a retry; it may be absent. */
export const retryRequest = z.strictObject({
  text: z
    .string()
    .trim()
    .min(1)
    .exactOptional()
    .describe('What is asked instead, in one new message; absent: the messages are queued again as they are'),
});
