// The ring for a session whose heartbeat is due. Whether it is worth a model call is decided when the poll is taken, not here.

import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';
import type { Doorbell, TurnRing } from './ring.ts';

export const heartbeatPoll: JobDefinition<'heartbeat'> = {
  kind: 'heartbeat',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};

/** Rings for a session with a new heartbeat poll. Resolves when the ring was made or given up; see `Doorbell.ring`. */
export function ringHeartbeatPoll(doorbell: Doorbell, ring: Omit<TurnRing, 'kind'>): Promise<void> {
  return doorbell.ring([{ ...ring, kind: 'heartbeat' }]);
}
