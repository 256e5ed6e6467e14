// The ring for a session with replies in the outbox. It has a queue of its own, so that a slow receiver never takes a place
// that a turn could have; its numbers are counted apart from those of the turns, hence the prefix in its id.
import { jobOf, parsePayload, type JobDefinition } from './job-definition.ts';

export const delivery: JobDefinition<'deliver'> = {
  kind: 'deliver',
  parse: parsePayload,
  toJob: (ring) => jobOf(ring, 'deliver', 'd.'),
};
