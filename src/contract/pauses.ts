// Pauses on the wire.
import { z } from 'zod';
import { LANES } from '../config/choices.ts';
import { nameText, sessionKeyText } from './queries.ts';

const REASON_CHARS_MAX = 500;

/** The scope of a pause: sessions that match all of it; empty: all sessions. */
const scope = {
  lane: z.enum(LANES).exactOptional(),
  agent: nameText.exactOptional(),
  session: sessionKeyText.exactOptional(),
};

export const pauseRequest = z.strictObject({
  ...scope,
  reason: z.string().trim().min(1).max(REASON_CHARS_MAX).exactOptional(),
});

export const resumeRequest = z.strictObject({
  ...scope,
  reason: z.string().trim().min(1).max(REASON_CHARS_MAX).exactOptional(),
});

export const pause = z.strictObject({
  id: z.uuid(),
  lane: z.enum(LANES).nullable(),
  agent: z.string().nullable(),
  session: z.string().nullable(),
  reason: z.string().nullable(),
  pausedBy: z.string(),
  since: z.iso.datetime(),
});
export type PauseView = z.output<typeof pause>;

export const pauses = z.strictObject({ items: z.array(pause) });

export const resumed = z.strictObject({ ended: z.array(pause), remaining: z.array(pause) });
