// The slots of a lane: how many turns it runs at the same time. Jobs of its queue wait for a slot;
// a session that is checked while the queue cannot be reached takes one only if it is free. The
// worker of a lane fetches its jobs and passes them to a function.
import { WaitingError } from 'bullmq';
import { parseJob, type QueueName, type RingKind } from '../../jobs/index.ts';
import type { SessionId } from '../../src/core/ids.ts';
import type { QueueBackend, QueueJob } from './queue-backend.ts';

export class Slots {
  readonly #count: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  /** `count`: at least 1. */
  constructor(count: number) {
    this.#count = count;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return this.#count - this.#taken;
  }

  /** Takes a slot, as soon as there is one; in the order of the calls. */
  async take(): Promise<void> {
    if (this.tryTake()) return;
    // A released slot passes to the first job that waits, so it stays in use.
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Takes a slot now; false when none is free. */
  tryTake(): boolean {
    if (this.#taken >= this.#count) return false;
    this.#taken += 1;
    return true;
  }

  /** Gives a slot back. */
  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken -= 1;
    else next();
  }
}

// Fetches the jobs of one lane and passes them to a function, with a bound on how many run at the
// same time. Wraps a BullMQ worker so that the queue cannot fail work: a job ends once its session
// was checked, whatever the result, and no error reaches the queue.
//
// A lane's slots are shared by the jobs of its queue and by the sessions that the reconciler has it
// try while the queue cannot be reached (`tryRun`).
//
// A job has two ends in the queue: completed, whatever the result of the work, because attempts and
// failures are counted in PostgreSQL and the reconciler rings again; and returned, when it was not
// started.
//
// A drain has two steps, because a turn can leave in two ways: `draining` makes it stop where it
// can be resumed, and `signal` makes it stop immediately. Jobs that arrive in between return to the
// queue.

/** `orphan`: the job points to nothing, or to nothing that we know. */
type JobOutcome = 'done' | 'orphan';

export interface LaneJob {
  kind: RingKind;
  sessionId: SessionId;
  /** Aborts with a `ShutdownReason` when the worker leaves and waits no longer. */
  signal: AbortSignal;
  /**
   * Aborts with a `ShutdownReason` when the worker begins to drain: stop at the next step that can
   * be continued.
   */
  draining: AbortSignal;
}

export interface ShutdownReason {
  kind: 'shutdown';
}

export interface LaneWorkerOptions {
  lane: QueueName;
  /** Jobs that run at the same time in this process; at least 1. */
  concurrency: number;
  /**
   * Checks the session. May be called for the same session several times at the same time, and
   * again for work that is done: the session's rows decide. Returns `orphan` when there is no such
   * session. What it throws is passed to `onEnd`, and the job is over like any other.
   */
  process: (job: LaneJob) => Promise<JobOutcome | void>;
  /** Called after each job of the queue and each check of a session. Must not throw. */
  onEnd: (end: JobEnd) => void;
}

/** How a job ended; `failed`: `process` threw the error. */
export interface JobEnd {
  queue: QueueName;
  /** Null: the job was none of ours. */
  job: Pick<LaneJob, 'kind' | 'sessionId'> | null;
  outcome: JobOutcome | 'failed';
  error?: unknown;
}

export interface LaneWorker {
  lane: QueueName;
  /** Jobs that it runs at the same time. */
  slots: number;
  /** Checks a session as a job would, without the queue; false when no slot is free. */
  tryRun(ring: Pick<LaneJob, 'kind' | 'sessionId'>): boolean;
  /** How many calls of `tryRun` would be taken now. */
  free(): number;
  /** Jobs that run now. */
  active(): number;
  /**
   * Fetches no more jobs, requests running ones to stop, and waits for them; shortly before the
   * deadline it forces them. Resolves with how many still run. Cannot be undone.
   */
  drain(graceMs: number): Promise<{ stillActive: number }>;
}

/** The largest part of the grace that is reserved for jobs that must be stopped. */
const ABORT_SHARE = 0.2;
const ABORT_MS_MAX = 5_000;

/**
 * How long BullMQ's worker may take to close when nothing runs. While the queue is away, it would
 * take until the queue is back.
 */
const CLOSE_MS_MAX = 2_000;

/**
 * Starts several lanes. Rejects when one of them cannot be started, after `end` has ended the
 * others.
 */
export async function startLaneWorkers(
  backend: QueueBackend,
  lanes: readonly LaneWorkerOptions[],
  end: (started: LaneWorker[]) => Promise<void>,
): Promise<LaneWorker[]> {
  const started = await Promise.allSettled(lanes.map((options) => startLaneWorker(backend, options)));
  const workers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = started.find((one) => one.status === 'rejected');
  if (failed === undefined) return workers;
  await end(workers);
  throw failed.reason;
}

/** Starts to fetch jobs immediately. Rejects when the queue cannot be reached. */
export async function startLaneWorker(backend: QueueBackend, options: LaneWorkerOptions): Promise<LaneWorker> {
  const { lane, concurrency, onEnd } = options;
  const draining = new AbortController();
  const leaving = new AbortController();
  const slots = new Slots(concurrency);
  const running = new Set<Promise<void>>();

  const worker = await backend.startWorker(lane, {
    concurrency,
    async process(job, token) {
      if (draining.signal.aborted) await returnJob(job, token);
      await slots.take();
      try {
        if (draining.signal.aborted) await returnJob(job, token);
        await tryRun(job);
      } finally {
        slots.leave();
      }
    },
  });

  async function tryRun(job: QueueJob): Promise<void> {
    const parsed = parseJob(job.name, job.data);
    if (parsed === null) onEnd({ queue: lane, job: null, outcome: 'orphan' });
    else await run(parsed);
  }

  function run(job: Pick<LaneJob, 'kind' | 'sessionId'>): Promise<void> {
    const one = runJob(job).finally(() => running.delete(one));
    running.add(one);
    return one;
  }

  async function runJob(job: Pick<LaneJob, 'kind' | 'sessionId'>): Promise<void> {
    try {
      const outcome = await options.process({ ...job, signal: leaving.signal, draining: draining.signal });
      onEnd({ queue: lane, job, outcome: outcome ?? 'done' });
    } catch (error) {
      onEnd({ queue: lane, job, outcome: 'failed', error });
    }
  }

  return {
    lane,
    slots: concurrency,
    tryRun(ring) {
      if (draining.signal.aborted || !slots.tryTake()) return false;
      void run(ring).finally(() => slots.leave());
      return true;
    },
    free: () => (draining.signal.aborted ? 0 : slots.free),
    active: () => slots.taken,
    async drain(graceMs) {
      const reason: ShutdownReason = { kind: 'shutdown' };
      const abortMs = Math.max(graceMs * (1 - ABORT_SHARE), graceMs - ABORT_MS_MAX);
      const abortTimer = setTimeout(() => leaving.abort(reason), abortMs);
      const { promise: isOver, resolve: endGrace } = Promise.withResolvers<void>();
      const graceTimer = setTimeout(endGrace, graceMs);
      draining.abort(reason);
      const closed = worker.close();
      await Promise.race([Promise.all(running), isOver]);
      const closeTimer = setTimeout(endGrace, CLOSE_MS_MAX);
      await Promise.race([closed, isOver]);
      for (const timer of [abortTimer, graceTimer, closeTimer]) clearTimeout(timer);
      return { stillActive: slots.taken };
    },
  };
}

/**
 * Ends a job that was not started: it returns to the queue, or is found stalled when the queue is
 * unavailable.
 */
async function returnJob(job: QueueJob, token: string): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}
