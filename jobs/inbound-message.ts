// The ring for a session that was sent a message: from a person, a channel or a batch. The message itself is an inbox row.

import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';
import type { Doorbell, TurnRing } from './ring.ts';

export const inboundMessage: JobDefinition<'inbound'> = {
  kind: 'inbound',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};

/** Rings for a session with a new inbox message. Resolves when the ring was made or given up; see `Doorbell.ring`. */
export function ringInboundMessage(doorbell: Doorbell, ring: Omit<TurnRing, 'kind'>): Promise<void> {
  return doorbell.ring([{ ...ring, kind: 'inbound' }]);
}
