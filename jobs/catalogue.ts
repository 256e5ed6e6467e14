// Every kind of job there is, by the name that it has in the queue; the way from a ring to its job and back. A job is tried once, and it
// leaves no trace: attempts, failures and history are rows of PostgreSQL, counted before the work, so that a killed worker counts too.
import type { Ring, RingKind } from '../src/kernel/queue/after-commit.ts';
import type { SessionId } from '../src/core/ids.ts';
import type { QueueName } from './ring.ts';

// A record, so that the compiler finds a kind that is missing here.
const KINDS: Record<RingKind, true> = {
  /** A session was sent a message: by a person, a channel or a batch. */
  inbound: true,
  /** A cron fired in a session. */
  cron: true,
  /** A session's heartbeat is due. Whether it is worth a model call is decided when the poll is claimed. */
  heartbeat: true,
  /** A subagent of the session ended. */
  announce: true,
  /** A session has more to do: a finished turn that needs another, or messages that waited while it was busy. */
  followup: true,
  /** A session has replies in the outbox. A slow receiver never takes a place that a turn could have. */
  deliver: true,
};

interface JobPayload {
  sessionId: SessionId;
}

/** One job as it is handed to BullMQ. */
export interface QueuedRing {
  queue: QueueName;
  name: RingKind;
  data: JobPayload;
  opts: typeof JOB_OPTIONS & { jobId: string; lifo?: true; priority?: number };
}

/** Removing finished jobs frees their ids immediately and keeps the queue as small as its backlog. */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/**
 * The job that a ring becomes. Its id is made of the ring's session and number, so that a ring that is repeated is one job; deliveries are
 * counted apart. Job ids have no colons: BullMQ's Redis keys are made with them.
 */
export function jobForRing(ring: Ring): QueuedRing {
  const { kind, sessionId, ringNo } = ring;
  const id = `${sessionId}.${ringNo}`;
  const [queue, jobId, priority] =
    ring.kind === 'deliver' ? (['deliver', `d.${id}`, 0] as const) : [ring.lane, id, ring.priority];
  return { queue, name: kind, data: { sessionId }, opts: { ...JOB_OPTIONS, jobId, ...toJobOrder(priority ?? 0) } };
}

/** BullMQ takes jobs with a priority after those without one, the lowest number first; `lifo` puts a job before all others. */
function toJobOrder(priority: number): { lifo?: true; priority?: number } {
  if (priority === 0) return {};
  return priority > 0 ? { lifo: true } : { priority: -priority };
}

/** A job that was understood. */
interface ParsedJob extends JobPayload {
  kind: RingKind;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The ring of a job from the queue, where anything may have been written: null unless its name is known and its payload is `{ sessionId }` with a
 * lower-case UUID. Such a job is removed from the queue and counted, never tried again.
 */
export function parseJob(name: string, data: unknown): ParsedJob | null {
  if (!Object.hasOwn(KINDS, name) || typeof data !== 'object' || data === null) return null;
  const { sessionId } = data as { sessionId?: unknown };
  if (typeof sessionId !== 'string' || !UUID.test(sessionId)) return null;
  // Its shape was just checked; whether there is such a session is for PostgreSQL to say.
  return { kind: name as RingKind, sessionId: sessionId as SessionId };
}

/** How long BullMQ believes that a silent worker is alive. Long, because the session's lease decides, not this. */
export const JOB_LOCK_MS = 60_000;

/** How often a lane searches for jobs of silent workers. The reconciler has rung again for their sessions long before. */
export const STALLED_INTERVAL_MS = 30_000;

/** A job may be found stalled without end: a count kept here would end jobs whose session still has work. */
export const STALLED_COUNT_MAX = 2_147_483_647;
