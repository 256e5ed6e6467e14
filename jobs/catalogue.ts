// Every kind of job there is, by the name that it has in the queue; the way from a ring to its job and back.
import type { Ring, RingKind } from '../src/after-commit.ts';
import { announcement } from './announcement.ts';
import { cronTick } from './cron-tick.ts';
import { delivery } from './delivery.ts';
import { followUp } from './follow-up.ts';
import { heartbeatPoll } from './heartbeat-poll.ts';
import { inboundMessage } from './inbound-message.ts';
import type { JobPayload, QueuedRing } from './job-definition.ts';

const CATALOGUE = {
  inbound: inboundMessage,
  cron: cronTick,
  heartbeat: heartbeatPoll,
  announce: announcement,
  followup: followUp,
  deliver: delivery,
};

/** The job that a ring becomes. */
export function jobForRing(ring: Ring): QueuedRing {
  if (ring.kind === 'deliver') return CATALOGUE.deliver.toJob(ring);
  return CATALOGUE[ring.kind].toJob(ring);
}

/** The ring of a job from the queue; null when its name or its payload is invalid. */
export function parseJob(name: string, data: unknown): ParsedJob | null {
  if (!Object.hasOwn(CATALOGUE, name)) return null;
  const kind = name as RingKind;
  const payload = CATALOGUE[kind].parse(data);
  return payload === null ? null : { kind, ...payload };
}

/** A job that was understood. */
interface ParsedJob extends JobPayload {
  kind: RingKind;
}
