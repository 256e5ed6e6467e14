// The shape of a kind of job, shared by the files of the kinds. The payload is `{ sessionId }` for all of them; it is checked
// where it is taken from the queue, because anything may have been written there.
import type { DeliveryRing, Ring, RingKind, TurnRing } from '../src/after-commit.ts';
import type { SessionId } from '../src/core/ids.ts';
import { JOB_OPTIONS } from './options.ts';
import type { QueueName } from './ring.ts';

/** All that a job carries. */
export interface JobPayload {
  sessionId: SessionId;
}

/** One job as it is handed to BullMQ. */
export interface QueuedRing {
  queue: QueueName;
  name: RingKind;
  data: JobPayload;
  opts: typeof JOB_OPTIONS & { jobId: string; lifo?: true; priority?: number };
}

export interface JobDefinition<Kind extends RingKind> {
  /** Also the job's name in the queue. */
  kind: Kind;
  /** The payload, or null when it is invalid: such a job is removed from the queue and counted, never tried again. */
  parse(data: unknown): JobPayload | null;
  /** The job of a ring. Its id is made of the ring's session and number, so that a ring that is repeated is one job. */
  toJob(ring: Kind extends 'deliver' ? DeliveryRing : TurnRing): QueuedRing;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A payload of exactly `{ sessionId }` with a lower-case UUID; null for anything else. */
export function parsePayload(data: unknown): JobPayload | null {
  if (typeof data !== 'object' || data === null) return null;
  const { sessionId } = data as { sessionId?: unknown };
  if (typeof sessionId !== 'string' || !UUID.test(sessionId)) return null;
  // Its shape was just checked; whether there is such a session is for PostgreSQL to say.
  return { sessionId: sessionId as SessionId };
}

/**
 * The job of a ring in a queue, as `toJob` gives it. `prefix` keeps apart the rings of one session that are counted separately.
 * Job ids have no colons: BullMQ's Redis keys are made with them.
 */
export function jobOf(ring: Ring, queue: QueueName, prefix: '' | 'd.'): QueuedRing {
  const { priority = 0 } = ring as { priority?: number };
  return {
    queue,
    name: ring.kind,
    data: { sessionId: ring.sessionId },
    opts: { ...JOB_OPTIONS, jobId: `${prefix}${ring.sessionId}.${ring.ringNo}`, ...orderOf(priority) },
  };
}

/** BullMQ takes jobs with a priority after those without one, the lowest number first; `lifo` puts a job before all others. */
function orderOf(priority: number): { lifo?: true; priority?: number } {
  if (priority === 0) return {};
  return priority > 0 ? { lifo: true } : { priority: -priority };
}
