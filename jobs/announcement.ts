// The ring for a session whose subagent ended. The announcement is a row of the parent's inbox, written with the child's end.

import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';
import type { Doorbell, TurnRing } from './ring.ts';

export const announcement: JobDefinition<'announce'> = {
  kind: 'announce',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};

/** Rings for a parent session with a new announcement. Resolves when the ring was made or given up; see `Doorbell.ring`. */
export function ringAnnouncement(doorbell: Doorbell, ring: Omit<TurnRing, 'kind'>): Promise<void> {
  return doorbell.ring([{ ...ring, kind: 'announce' }]);
}
