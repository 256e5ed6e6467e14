// The reconciler: rings again for everything that waits without a live ring. It replaces rings that
// were lost (a wiped queue, a process that crashed between commit and ring) and rings for sessions
// whose worker crashed (G10, G22).
//
// The parts of a round run in parallel: one that fails does not stop the others. Nor does a queue
// that does not answer for ten rounds: then every ring counts as lost, and a ring too many costs
// one extra check of a session. A busy queue does not answer now and then, and more rings make it
// busier.
//
// While the queue is unavailable, the lanes of this process receive due sessions directly, as far
// as they have free slots, so that an outage of the queue costs about an interval per message and
// no more.
//
// It asks every `reconcileMs` whether there is work, and runs then, and earlier when it knows an
// earlier deadline: a lease that expires, a retry that becomes due. A ring that still waits in the
// queue is not rung again: with ten thousand sessions waiting for a worker there are ten thousand
// jobs, not more each second.
import type { QueueName, Ring } from '../jobs/index.ts';
import type { Publish } from '../src/kernel/queue/after-commit.ts';
import { LANES } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import { carryOutLeftEffects, leftWork } from '../src/kernel/effects/carry-out.ts';
import type { EffectParts } from '../src/kernel/effects/turn-effects.ts';
import { pause } from '../src/clock.ts';
import type { DueDeliveries } from '../src/kernel/process-part.ts';
import {
  countRings,
  ringWork,
  STALE_RINGS_MAX,
  selectStaleRings,
  type StaleRing,
} from '../src/kernel/queue/reconcile.ts';
import { anyOf, createWorkWatch, type WorkWatch } from '../src/kernel/queue/work-watch.ts';

export interface ReconcilerOptions extends EffectParts {
  publish: Publish;
  logger: Logger;
  reconcileMs: number;
  /** Asks whether there is work, for all rounds of the process. */
  watch?: WorkWatch;
  /** Which of these rings still wait in the queue. May reject when the queue is away. */
  stillWaiting: (rings: StaleRing[]) => Promise<Set<string>>;
  due: readonly DueDeliveries[];
  /** Called with the number of jobs that were added again; absent: they are not counted. */
  onRepeated?: ((rings: number) => void) | undefined;
  /** Rejects when the queue cannot be reached. */
  pingQueue: () => Promise<void>;
  /** Called each time that the queue could not be asked. Must not throw. */
  onQueueFault: (error: unknown) => void;
  /**
   * The lanes of this process, which check sessions without the queue during its outage; null: it
   * has none.
   */
  lanes: DirectLanes | null;
}

/** Lanes that can be given work without the queue. */
export interface DirectLanes {
  /** How many sessions the lane would take now. */
  free(lane: QueueName): number;
  /** Checks a session; false when the lane is full. */
  tryRun(lane: QueueName, ring: Pick<Ring, 'kind' | 'sessionId'>): boolean;
}

/** While the queue is down and a lane used all its room, the next round follows after this time. */
const DIRECT_ROUND_MS = 100;

/** A lease is checked this long after it expired, in milliseconds. */
const AFTER_MOMENT_MS = 5;

/**
 * After this many intervals without a successful round, the reconciler counts as failed, and after
 * so many rounds without an answer, the queue as empty.
 */
const INTERVALS_MAX = 10;

/** The id of its job. */
const idOf = ({ sessionId, ringNo }: StaleRing): string => `${sessionId}.${ringNo}`;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Asked at most once per interval, because rounds may follow each other closely. */
  #queue = { askedAtMs: Number.NEGATIVE_INFINITY, isAsking: false, isAway: false };
  /** Rounds since the queue has said which rings still wait. */
  #unanswered = 0;
  /** When a round last succeeded, monotonic milliseconds. */
  #succeededAtMs = performance.now();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#succeededAtMs = performance.now();
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /** True when no round has succeeded for ten intervals. */
  get isStalled(): boolean {
    return this.#sinceMs() > INTERVALS_MAX * this.#options.reconcileMs;
  }

  /** Rejects when no round has succeeded for ten intervals; for readiness. */
  async check(): Promise<void> {
    if (this.isStalled) throw new ReconcilerStalledError(this.#sinceMs());
  }

  #sinceMs(): number {
    return performance.now() - this.#succeededAtMs;
  }

  async #run(): Promise<void> {
    const { reconcileMs } = this.#options;
    const { signal } = this.#stopped;
    const ask = this.#openQuestion();
    for (let nextMs = 0; !signal.aborted;) {
      // At a known moment there is work.
      const hasWork = nextMs < reconcileMs ? await pause(nextMs, signal).then(() => true) : await ask();
      if (signal.aborted) return;
      this.#askQueue();
      nextMs = hasWork ? await this.#work() : reconcileMs;
    }
  }

  /** Returns the function that asks whether there is work, within an interval. */
  #openQuestion(): () => Promise<boolean> {
    const { database, effects, reconcileMs, due } = this.#options;
    const { watch = createWorkWatch(database) } = this.#options;
    // What is due until then is work, because a round learns when it is due.
    const ask = watch.add(anyOf([ringWork(2 * reconcileMs), leftWork(effects), ...due.map(({ work }) => work)]));
    return async () => {
      try {
        const hasWork = await ask(reconcileMs, this.#stopped.signal);
        if (!hasWork) this.#succeededAtMs = performance.now();
        return hasWork;
      } catch (error) {
        database.outages.report(error, 'Reconciler could not ask whether there is work; it asks again');
        return false;
      }
    };
  }

  /** One round; resolves with the milliseconds until the next one. */
  async #work(): Promise<number> {
    const { reconcileMs, database } = this.#options;
    const parts = await Promise.allSettled([this.#ringFaded(), this.#ringDue(), this.#carryOutLeft()]);
    let nextMs = reconcileMs;
    let hasFailed = false;
    for (const part of parts) {
      if (part.status === 'rejected') {
        hasFailed = true;
        database.outages.report(part.reason, 'Part of a reconciler round failed; the next round retries');
      } else if (part.value !== null) nextMs = Math.min(nextMs, part.value + AFTER_MOMENT_MS);
    }
    if (!hasFailed) this.#succeededAtMs = performance.now();
    return nextMs;
  }

  /**
   * Asks the queue whether it is there, and keeps no round waiting: the answer counts from the next
   * round on.
   */
  #askQueue(): void {
    const { reconcileMs, pingQueue, onQueueFault } = this.#options;
    if (this.#queue.isAsking || performance.now() - this.#queue.askedAtMs < reconcileMs) return;
    this.#queue = { ...this.#queue, askedAtMs: performance.now(), isAsking: true };
    pingQueue().then(
      () => (this.#queue = { ...this.#queue, isAsking: false, isAway: false }),
      (error: unknown) => {
        this.#queue = { ...this.#queue, isAsking: false, isAway: true };
        onQueueFault(error);
      },
    );
  }

  /** Returns the milliseconds until the next known deadline; null: none is known. */
  async #ringFaded(): Promise<number | null> {
    const { database, publish, reconcileMs, logger } = this.#options;
    if (this.#queue.isAway) return await this.#checkDirectly();
    const lanes = LANES.map((lane) => ({ lane, room: STALE_RINGS_MAX }));
    const { stale, nextInMs } = await selectStaleRings(database, { staleAfterMs: reconcileMs, lanes });
    if (stale.length === 0) return nextInMs;
    const alive = await this.#stillWaiting(stale.filter((ring) => !ring.isAbandoned));
    const lost = stale.filter((ring) => !alive.has(idOf(ring)));
    const { rings } = publish(await countRings(database, lost));
    this.#options.onRepeated?.(rings);
    if (rings > 0) logger.debug({ rings }, 'Jobs were enqueued again');
    return nextInMs;
  }

  /**
   * Does without the queue what its jobs would do: takes due sessions for the free places of this
   * process.
   */
  async #checkDirectly(): Promise<number | null> {
    const { database, reconcileMs, lanes } = this.#options;
    // What this process took it would keep from those that can work.
    if (lanes === null) return null;
    const rooms = LANES.map((lane) => ({ lane, room: lanes.free(lane) }));
    const { stale, nextInMs } = await selectStaleRings(database, { staleAfterMs: reconcileMs, lanes: rooms });
    for (const { lane, sessionId } of stale) lanes.tryRun(lane, { kind: 'inbound', sessionId });
    return stale.length > 0 ? DIRECT_ROUND_MS : nextInMs;
  }

  /**
   * Asks which rings still wait. If the queue cannot be asked, all count as waiting, for ten
   * rounds.
   */
  async #stillWaiting(rings: StaleRing[]): Promise<Set<string>> {
    try {
      const waiting = await this.#options.stillWaiting(rings);
      this.#unanswered = 0;
      return waiting;
    } catch (error) {
      this.#options.onQueueFault(error);
      this.#unanswered += 1;
      return new Set(this.#unanswered < INTERVALS_MAX ? rings.map(idOf) : []);
    }
  }

  async #carryOutLeft(): Promise<null> {
    this.#options.publish(await carryOutLeftEffects(this.#options));
    return null;
  }

  async #ringDue(): Promise<null> {
    const { due, publish, lanes } = this.#options;
    const rings = (await Promise.all(due.map(({ read }) => read()))).flat();
    if (rings.length === 0) return null;
    if (!this.#queue.isAway) publish({ after: { changed: [], rings } });
    else if (lanes !== null) {
      for (const { sessionId } of rings.slice(0, lanes.free('deliver'))) {
        lanes.tryRun('deliver', { kind: 'deliver', sessionId });
      }
    }
    return null;
  }
}

class ReconcilerStalledError extends Error {
  readonly code = 'reconciler_stalled';
  constructor(sinceMs: number) {
    super(`No round of the reconciler has succeeded for ${Math.round(sinceMs)} ms.`);
    this.name = 'ReconcilerStalledError';
  }
}
