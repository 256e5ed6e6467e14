// The ring for a session whose subagent ended. The announcement is a row of the parent's inbox, written with the child's end.
import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';

export const announcement: JobDefinition<'announce'> = {
  kind: 'announce',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};
