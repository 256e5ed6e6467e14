// The ring for a session that has more to do: a finished turn that needs another, or messages that waited while it was busy.
import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';

export const followUp: JobDefinition<'followup'> = {
  kind: 'followup',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};
