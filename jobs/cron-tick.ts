// The ring for a session in which a cron fired. The fire and the message that it caused were committed before, in one transaction.
import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';

export const cronTick: JobDefinition<'cron'> = {
  kind: 'cron',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};
