// Waiting messages on the wire.
import { z } from 'zod';
import { NEXT_STEP_CODES, WAITING_COUNT_MAX } from '../kernel/rules/why.ts';
import { describeList } from './answers.ts';
import { message, why } from './views.ts';
import { flag, lane } from './fields.ts';

/** Every reason for which a message can wait. */
export const waitReason = z.enum(NEXT_STEP_CODES);

export const waitingMessage = message.extend({
  status: z.enum(['waiting', 'claimed']).describe('`waiting`, or `claimed` while its turn is parked'),
  lane,
  position: z.int().min(1).max(WAITING_COUNT_MAX).describe('Its position in the queue of its session, counted from 1'),
  why: why.describe('Why it waits'),
});
export type WaitingView = z.output<typeof waitingMessage>;

export const waitingList = describeList(waitingMessage).extend({
  count: z
    .int()
    .min(0)
    .max(WAITING_COUNT_MAX)
    .describe('The number of waiting messages, up to 10,000; with `reason`, of those that fit among the next 2,000'),
  isCapped: flag.describe('Whether the limit of the count was reached, so that there may be more'),
});
