// The doorbell: many callers, few commands. While one addBulk of a queue is in flight, the rings
// for that queue wait and are sent together in the next. The caller has committed the work already,
// so a fault here goes to the outage log and is never thrown: a ring that is lost costs the
// reconciler's interval, and a caller that waited for a dead queue would cost more.
import type { Ring, RingKind } from '../src/kernel/queue/after-commit.ts';
import type { SessionId } from '../src/core/ids.ts';
import { type QueueName, QUEUE_NAMES, type Doorbell, type QueueDepth } from './ring.ts';
import { oneInFlight, type OneInFlight } from '../src/coalesce.ts';
import { withDeadline } from '../src/clock.ts';
import type { OutageLog } from '../src/logger.ts';

// Every kind of job there is, by the name that it has in the queue; the way from a ring to its job
// and back. A job is tried once, and it leaves no trace: attempts, failures and history are rows of
// PostgreSQL, counted before the work, so that a killed worker counts too.

// A record, so that the compiler finds a kind that is missing here.
const KINDS: Record<RingKind, true> = {
  /** A session was sent a message: by a person, a channel or a batch. */
  inbound: true,
  /** A cron fired in a session. */
  cron: true,
  /**
   * A session's heartbeat is due. Whether it is worth a model call is decided when the poll is
   * claimed.
   */
  heartbeat: true,
  /** A subagent of the session ended. */
  announce: true,
  /**
   * A session has more to do: a finished turn that needs another, or messages that waited while it
   * was busy.
   */
  followup: true,
  /**
   * A session has replies in the outbox. A slow receiver never takes a place that a turn could
   * have.
   */
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

/**
 * Removing finished jobs frees their ids immediately and keeps the queue as small as its backlog.
 */
const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/**
 * The job that a ring becomes. Its id is made of the ring's session and number, so that a ring that
 * is repeated is one job; deliveries are counted apart. Job ids have no colons: BullMQ's Redis keys
 * are made with them.
 */
export function jobForRing(ring: Ring): QueuedRing {
  const { kind, sessionId, ringNo } = ring;
  const id = `${sessionId}.${ringNo}`;
  const [queue, jobId, priority] =
    ring.kind === 'deliver' ? (['deliver', `d.${id}`, 0] as const) : [ring.lane, id, ring.priority];
  return { queue, name: kind, data: { sessionId }, opts: { ...JOB_OPTIONS, jobId, ...toJobOrder(priority ?? 0) } };
}

/**
 * BullMQ takes jobs with a priority after those without one, the lowest number first; `lifo` puts a
 * job before all others.
 */
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
 * The ring of a job from the queue, where anything may have been written: null unless its name is
 * known and its payload is `{ sessionId }` with a lower-case UUID. Such a job is removed from the
 * queue and counted, never tried again.
 */
export function parseJob(name: string, data: unknown): ParsedJob | null {
  if (!Object.hasOwn(KINDS, name) || typeof data !== 'object' || data === null) return null;
  const { sessionId } = data as { sessionId?: unknown };
  if (typeof sessionId !== 'string' || !UUID.test(sessionId)) return null;
  // Its shape was just checked; whether there is such a session is for PostgreSQL to say.
  return { kind: name as RingKind, sessionId: sessionId as SessionId };
}

/**
 * How long BullMQ believes that a silent worker is alive. Long, because the session's lease
 * decides, not this.
 */
export const JOB_LOCK_MS = 60_000;

/**
 * How often a lane searches for jobs of silent workers. The reconciler has rung again for their
 * sessions long before.
 */
export const STALLED_INTERVAL_MS = 30_000;

/**
 * A job may be found stalled without end: a count kept here would end jobs whose session still has
 * work.
 */
export const STALLED_COUNT_MAX = 2_147_483_647;

/** What the doorbell needs of a BullMQ queue. */
export interface RingQueue {
  add(name: string, data: QueuedRing['data'], opts: QueuedRing['opts']): Promise<unknown>;
  addBulk(jobs: Pick<QueuedRing, 'name' | 'data' | 'opts'>[]): Promise<unknown>;
  getJobCounts(...states: (keyof QueueDepth | 'prioritized')[]): Promise<Record<string, number>>;
}

interface DoorbellOptions {
  /**
   * The producing side of a queue, which stays open; called once per queue, when it is first
   * needed.
   */
  queue: (name: QueueName) => RingQueue;
  /** Takes what a ring fails with. */
  outages: Pick<OutageLog, 'failed' | 'answered'>;
  /**
   * How long one command may take, in milliseconds. A caller of `ring` waits for at most two while
   * fewer than `BATCH_MAX` jobs wait.
   */
  ringTimeoutMs?: number;
}

const RING_TIMEOUT_MS = 2_000;

/** Jobs in one addBulk. */
const BATCH_MAX = 500;

/**
 * Fewer are added one by one: on PostgreSQL, addBulk makes temporary tables, which costs as much as
 * adding about ten jobs.
 */
const BULK_MIN = 10;

/**
 * Jobs that wait for one queue. More of them mean that the queue is down or slow: those are left to
 * the reconciler.
 */
const WAITING_MAX = 20_000;

/** Commands without an answer. A queue with this many gets no more until one is answered. */
const UNANSWERED_MAX = 4;

/** Makes a doorbell. It connects to a queue when the first ring for it arrives. */
export function createDoorbell(options: DoorbellOptions): Doorbell {
  const bells = new Map<QueueName, Bell>();
  let isClosed = false;

  function openBell(name: QueueName): Bell {
    let bell = bells.get(name);
    if (bell === undefined) bells.set(name, (bell = new Bell(name, options)));
    return bell;
  }

  return {
    async ring(rings) {
      if (isClosed) return;
      const batches = Map.groupBy(rings.map(jobForRing), (job) => job.queue);
      await Promise.all(Array.from(batches, ([name, jobs]) => openBell(name).ring(jobs)));
    },
    async depth() {
      const depths = await Promise.all(QUEUE_NAMES.map(async (name) => [name, await openBell(name).depth()] as const));
      // One entry per queue name, by construction.
      return Object.fromEntries(depths) as Record<QueueName, QueueDepth>;
    },
    async close() {
      isClosed = true;
      await Promise.all(Array.from(bells.values(), (bell) => bell.close()));
    },
  };
}

/** The doorbell of one queue. */
class Bell {
  readonly #queue: RingQueue;
  readonly #outages: DoorbellOptions['outages'];
  readonly #timeoutMs: number;
  readonly #jobs: OneInFlight<QueuedRing, void>;
  #unanswered = 0;

  constructor(name: QueueName, options: DoorbellOptions) {
    this.#queue = options.queue(name);
    this.#outages = options.outages;
    this.#timeoutMs = options.ringTimeoutMs ?? RING_TIMEOUT_MS;
    this.#jobs = oneInFlight({
      name: `jobs for the queue ${name}`,
      run: (jobs: QueuedRing[]) => this.#add(jobs),
      rowsMax: BATCH_MAX,
      waitingMax: WAITING_MAX,
      timeoutMs: this.#timeoutMs,
      // A job is ids and no more: no job makes its neighbours fail.
      isShared: () => true,
    });
  }

  /** Sends the jobs with the next command; resolves when they were sent, or when one was not. */
  async ring(jobs: QueuedRing[]): Promise<void> {
    await Promise.all(jobs.map(this.#jobs.submit)).then(() => this.#outages.answered(), this.#outages.failed);
  }

  async depth(): Promise<QueueDepth> {
    const counts = await this.#inTime(this.#queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed'));
    const waiting = (counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0);
    return { waiting, active: counts['active'] ?? 0, delayed: counts['delayed'] ?? 0 };
  }

  /** Sends what waits. */
  async close(): Promise<void> {
    await this.#jobs.close();
  }

  async #add(jobs: QueuedRing[]): Promise<void[]> {
    if (this.#unanswered >= UNANSWERED_MAX) throw new Error('the queue has not answered since its last failure');
    this.#unanswered += 1;
    // A ring that is repeated while it waits is one job.
    const byId = new Map(jobs.map(({ name, data, opts }) => [opts.jobId, { name, data, opts }]));
    try {
      if (byId.size >= BULK_MIN) await this.#queue.addBulk([...byId.values()]);
      else await Promise.all(Array.from(byId.values(), ({ name, data, opts }) => this.#queue.add(name, data, opts)));
    } finally {
      this.#unanswered -= 1;
    }
    return jobs.map(() => undefined);
  }

  #inTime<Value>(answer: Promise<Value>): Promise<Value> {
    const late = (): Error => new Error(`the queue did not answer within ${this.#timeoutMs} ms`);
    return withDeadline({ ms: this.#timeoutMs, late }, () => answer);
  }
}
