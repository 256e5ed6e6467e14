// Pauses on the wire.
import { z } from 'zod';
import { guardedName, ofService } from './guarded.ts';
import { LANES } from '../core/session-key.ts';
import { nameText, sessionKeyText } from './queries.ts';
import { text, uuid, iso, reason } from './fields.ts';

/** The scope of a pause: sessions that match all of it; empty: all sessions. */
const scope = {
  lane: z.enum(LANES).exactOptional().describe('The lane whose sessions are paused; absent: every lane'),
  agent: nameText.exactOptional().describe('The agent whose sessions are paused; absent: every agent'),
  session: sessionKeyText.exactOptional().describe('The key of the session that is paused; absent: every session'),
};

export const pauseRequest = z.strictObject({
  ...scope,
  reason: reason.describe('Why; shown with what waits, and stored in the audit log'),
});

export const resumeRequest = z.strictObject({ ...scope, reason });

export const pause = z.strictObject({
  id: uuid.describe('The id of the pause'),
  lane: z.enum(LANES).nullable().describe('Only sessions of this lane; null: of every lane'),
  agent: text.nullable().describe('Only sessions of this agent; null: of every agent'),
  session: text.nullable().describe('Only this session; null: every session'),
  reason: ofService(text, 'The reason in the request; null: none was given'),
  pausedBy: guardedName('Who created the pause: `admin`, or `key:<name>`'),
  since: iso.describe('When the pause began'),
});
export type PauseView = z.output<typeof pause>;

export const pauses = z.strictObject({ items: z.array(pause).describe('The pauses in force; empty: there is none') });

export const resumed = z.strictObject({
  ended: z.array(pause).describe('The pauses that this request ended; empty: there was no pause with this scope'),
  remaining: z.array(pause).describe('The pauses that remain'),
});
