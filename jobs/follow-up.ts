// The ring for a session that has more to do: a finished turn that wants another, or messages that waited while it was busy.

import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';
import type { Doorbell, TurnRing } from './ring.ts';

export const followUp: JobDefinition<'followup'> = {
  kind: 'followup',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};

/** Rings for a session with more to do. Resolves when the ring was made or given up; see `Doorbell.ring`. */
export function ringFollowUp(doorbell: Doorbell, ring: Omit<TurnRing, 'kind'>): Promise<void> {
  return doorbell.ring([{ ...ring, kind: 'followup' }]);
}
