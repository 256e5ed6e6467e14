// Waiting messages on the wire.
import { z } from 'zod';
import { LANES } from '../config/choices.ts';
import { WAITING_COUNT_MAX } from '../core/waiting/why.ts';
import { listOf } from './answers.ts';
import { message, why } from './views.ts';

export const waitingMessage = message.extend({
  status: z.enum(['waiting', 'claimed']),
  lane: z.enum(LANES),
  position: z.int().min(1).max(WAITING_COUNT_MAX),
  why,
});
export type WaitingView = z.output<typeof waitingMessage>;

export const waitingList = listOf(waitingMessage).extend({
  count: z.int().min(0).max(WAITING_COUNT_MAX),
  isCapped: z.boolean(),
});
