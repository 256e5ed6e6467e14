// The ring for a session whose heartbeat is due. Whether it is worth a model call is decided when the poll is claimed, not here.
import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';

export const heartbeatPoll: JobDefinition<'heartbeat'> = {
  kind: 'heartbeat',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};
