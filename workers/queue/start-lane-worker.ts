// Fetches the jobs of one lane and passes them to a function, with a bound on how many run at the same time. Wraps a BullMQ worker so
// that the queue cannot fail work: a job ends once its session was checked, whatever the result, and no error reaches the queue.
//
// A lane's slots are shared by the jobs of its queue and by work that this process passes to it directly (`seat`). A seat is granted
// only while no job has recently waited for a slot, so that direct work never overtakes the queue (G27).
//
// A drain has two steps, because a turn can leave in two ways: `draining` makes it stop where it can be resumed, and `signal` makes it
// stop immediately. Jobs that arrive in between return to the queue.
import { parseJob, type QueueName, type RingKind } from '../../jobs/index.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { Places } from './places.ts';
import type { AnyJob, QueueBackend } from './queue-backend.ts';
import { returnJob, type JobOutcome } from './settle.ts';

export interface LaneJob {
  kind: RingKind;
  sessionId: SessionId;
  /** Aborts with a `ShutdownReason` when the worker leaves and waits no longer. */
  signal: AbortSignal;
  /** Aborts with a `ShutdownReason` when the worker begins to drain: stop at the next step that can be continued. */
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
   * Checks the session. May be called for the same session several times at the same time, and again for work that is done:
   * the session's rows decide. Returns `orphan` when there is no such session. What it throws is passed to `onError` and ends
   * the job like any other end.
   */
  process: (job: LaneJob) => Promise<JobOutcome | void>;
  /** Called with what `process` threw. Must not throw. */
  onError: (error: unknown, job: Pick<LaneJob, 'kind' | 'sessionId'>) => void;
}

/** Counts since the start. */
interface LaneCounts {
  done: number;
  /** `process` threw. */
  failed: number;
  /** The payload was none of ours, or pointed to nothing. */
  orphans: number;
}

/** A place of a lane that is kept free. Exactly one of its two ends is to be called. */
export interface Seat {
  /** Runs work in the place; what it throws is passed to `onError`. */
  run(sessionId: SessionId, work: (job: LaneJob) => Promise<void>): void;
  leave(): void;
}

export interface LaneWorker {
  lane: QueueName;
  /** Reserves a slot for direct work; null when there may be none. */
  seat(): Seat | null;
  counts(): LaneCounts;
  /** Checks a session as a job would, without the queue; false when no slot is free. */
  look(ring: Pick<LaneJob, 'kind' | 'sessionId'>): boolean;
  /** How many calls of `look` would be taken now. */
  free(): number;
  /** Jobs that run now. */
  active(): number;
  /** When the queue last answered, on the monotonic clock; null before it did. */
  lastPollAtMs(): number | null;
  /** False when slots are free and the queue has not answered for this long: the process should be restarted. */
  isLive(withinMs: number): boolean;
  /** Fetches no more jobs until `resume`; running jobs continue. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /**
   * Fetches no more jobs, requests running ones to stop, and waits for them; shortly before the deadline it forces them.
   * Resolves with how many still run. Cannot be undone.
   */
  drain(graceMs: number): Promise<{ stillActive: number }>;
}

/** The largest part of the grace that is reserved for jobs that must be stopped. */
const ABORT_SHARE = 0.2;
const ABORT_MS_MAX = 5_000;

/** Starts to fetch jobs immediately. */
export function startLaneWorker(backend: QueueBackend, options: LaneWorkerOptions): LaneWorker {
  const { lane, concurrency, onError } = options;
  const counts: LaneCounts = { done: 0, failed: 0, orphans: 0 };
  const draining = new AbortController();
  const leaving = new AbortController();
  const places = new Places(concurrency, () => performance.now());
  const brought = new Set<Promise<void>>();
  let isPaused = false;

  const consumer = backend.openConsumer(lane, {
    concurrency,
    async process(job, token) {
      if (isPaused || draining.signal.aborted) await returnJob(job, token);
      await places.takeForJob();
      try {
        if (isPaused || draining.signal.aborted) await returnJob(job, token);
        await look(job);
      } finally {
        places.leaveAsJob();
      }
    },
  });

  async function runBrought(sessionId: SessionId, work: (job: LaneJob) => Promise<void>): Promise<void> {
    try {
      await work({ kind: 'inbound', sessionId, signal: leaving.signal, draining: draining.signal });
      counts.done += 1;
    } catch (error) {
      counts.failed += 1;
      onError(error, { kind: 'inbound', sessionId });
    } finally {
      places.leaveAsBrought();
    }
  }

  async function look(job: AnyJob): Promise<void> {
    const parsed = parseJob(job.name, job.data);
    if (parsed === null) counts.orphans += 1;
    else await runJob(parsed);
  }

  async function runJob(parsed: Pick<LaneJob, 'kind' | 'sessionId'>): Promise<void> {
    try {
      const outcome = await options.process({ ...parsed, signal: leaving.signal, draining: draining.signal });
      counts[outcome === 'orphan' ? 'orphans' : 'done'] += 1;
    } catch (error) {
      counts.failed += 1;
      onError(error, parsed);
    }
  }

  return {
    lane,
    seat() {
      if (isPaused || draining.signal.aborted || !places.takeForBrought()) return null;
      return {
        run(sessionId, work) {
          const running = runBrought(sessionId, work).finally(() => brought.delete(running));
          brought.add(running);
        },
        leave: () => places.leaveAsBrought(),
      };
    },
    look(ring) {
      if (isPaused || draining.signal.aborted || !places.takeFree()) return false;
      const running = runJob(ring).finally(() => {
        places.leaveAsJob();
        brought.delete(running);
      });
      brought.add(running);
      return true;
    },
    free: () => (isPaused || draining.signal.aborted ? 0 : places.free),
    counts: () => ({ ...counts }),
    active: () => places.taken,
    lastPollAtMs: () => consumer.lastPollAtMs(),
    isLive(withinMs) {
      if (isPaused || draining.signal.aborted || places.taken >= concurrency) return true;
      const lastPollAtMs = consumer.lastPollAtMs();
      return lastPollAtMs !== null && performance.now() - lastPollAtMs <= withinMs;
    },
    async pause() {
      isPaused = true;
      await consumer.worker.pause(true);
      await consumer.interrupt();
    },
    async resume() {
      isPaused = false;
      await consumer.resume();
      await consumer.worker.resume();
    },
    async drain(graceMs) {
      const reason: ShutdownReason = { kind: 'shutdown' };
      const abortMs = Math.max(graceMs * (1 - ABORT_SHARE), graceMs - ABORT_MS_MAX);
      const abortTimer = setTimeout(() => leaving.abort(reason), abortMs);
      const { promise: isOver, resolve: endGrace } = Promise.withResolvers<void>();
      const graceTimer = setTimeout(endGrace, graceMs);
      draining.abort(reason);
      await Promise.race([Promise.all([consumer.worker.close(), ...brought]), isOver]);
      clearTimeout(abortTimer);
      clearTimeout(graceTimer);
      return { stillActive: places.taken };
    },
  };
}
