// The ring for a session that was sent a message: from a person, a channel or a batch. The message itself is an inbox row.
import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';

export const inboundMessage: JobDefinition<'inbound'> = {
  kind: 'inbound',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, ring.lane, ''),
};
