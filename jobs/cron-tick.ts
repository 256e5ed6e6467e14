// The ring for a session in which a cron fired. The fire and the message that it caused were committed before, in one transaction.

import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';
import type { Doorbell, TurnRing } from './ring.ts';

export const cronTick: JobDefinition<'cron'> = {
  kind: 'cron',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};

/** Rings for a session with a new cron message. Resolves when the ring was made or given up; see `Doorbell.ring`. */
export function ringCronTick(doorbell: Doorbell, ring: Omit<TurnRing, 'kind'>): Promise<void> {
  return doorbell.ring([{ ...ring, kind: 'cron' }]);
}
