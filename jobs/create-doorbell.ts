// The doorbell: many callers, few commands. While one addBulk of a queue is on its way, what arrives for it waits and goes
// together in the next. The caller has committed the work already, so a fault here goes to the outage log and is never thrown: a ring that
// is lost costs the reconciler's interval, and a caller that waited for a dead queue would cost more.
import type { OutageLog } from '../src/outage-log.ts';
import { jobForRing } from './catalogue.ts';
import type { QueuedRing } from './job-definition.ts';
import { QUEUE_NAMES, type Doorbell, type QueueDepth, type QueueName } from './ring.ts';

/** What the doorbell needs of a BullMQ queue. */
export interface RingQueue {
  addBulk(jobs: { name: string; data: QueuedRing['data']; opts: QueuedRing['opts'] }[]): Promise<unknown>;
  getJobCounts(...states: (keyof QueueDepth)[]): Promise<Record<string, number>>;
  close(): Promise<void>;
}

interface DoorbellOptions {
  /** Opens the producing side of a queue; called once per queue, when it is first needed. */
  openQueue: (name: QueueName) => RingQueue;
  /** Takes what a ring fails with. */
  outages: Pick<OutageLog, 'failed' | 'answered'>;
  /** The longest that one command may take, in milliseconds. A caller of `ring` waits for at most two of them. */
  ringTimeoutMs?: number;
}

const RING_TIMEOUT_MS = 2_000;

/** Rings in one addBulk. */
const BATCH_MAX = 500;

/** Rings that wait for one queue. More of them mean that the queue is down or slow: those are left to the reconciler. */
const WAITING_MAX = 20_000;

/** Commands without an answer. A queue with this many unanswered commands gets no more until one is answered. */
const ABANDONED_MAX = 4;

/** Makes a doorbell. It connects to a queue when the first ring for it arrives. */
export function createDoorbell(options: DoorbellOptions): Doorbell {
  const bells = new Map<QueueName, Bell>();
  let isClosed = false;

  function bellOf(name: QueueName): Bell {
    let bell = bells.get(name);
    if (bell === undefined) bells.set(name, (bell = new Bell(name, options)));
    return bell;
  }

  return {
    async ring(rings) {
      if (isClosed) return;
      const batches = Map.groupBy(rings.map(jobForRing), (job) => job.queue);
      await Promise.all(Array.from(batches, ([name, jobs]) => bellOf(name).ring(jobs)));
    },
    async depth() {
      const depths = await Promise.all(QUEUE_NAMES.map(async (name) => [name, await bellOf(name).depth()] as const));
      // One entry per queue name, by construction.
      return Object.fromEntries(depths) as Record<QueueName, QueueDepth>;
    },
    async close() {
      isClosed = true;
      await Promise.all(Array.from(bells.values(), (bell) => bell.close()));
    },
  };
}

/** The doorbell of one queue: the command in flight, and the rings that wait for the next. */
class Bell {
  readonly #queue: RingQueue;
  readonly #outages: DoorbellOptions['outages'];
  readonly #timeoutMs: number;
  #next = newBatch();
  #running: Promise<void> | null = null;
  #abandoned = 0;

  constructor(name: QueueName, options: DoorbellOptions) {
    this.#queue = options.openQueue(name);
    this.#outages = options.outages;
    this.#timeoutMs = options.ringTimeoutMs ?? RING_TIMEOUT_MS;
  }

  /** Sends the rings with the next command; resolves when it was sent or has failed. */
  ring(jobs: QueuedRing[]): Promise<void> {
    const batch = this.#next;
    if (batch.jobs.size + jobs.length > WAITING_MAX) {
      this.#outages.failed(new Error(`more than ${WAITING_MAX} jobs wait to be enqueued`));
      return Promise.resolve();
    }
    for (const job of jobs) batch.jobs.set(job.opts.jobId, job);
    // The rings of one tick of the event loop travel together: the first command is made after it.
    this.#running ??= Promise.resolve().then(() => this.#run());
    return batch.settled.promise;
  }

  async depth(): Promise<QueueDepth> {
    const counts = await within(this.#timeoutMs, this.#queue.getJobCounts('waiting', 'active', 'delayed'));
    return { waiting: counts['waiting'] ?? 0, active: counts['active'] ?? 0, delayed: counts['delayed'] ?? 0 };
  }

  async close(): Promise<void> {
    await this.#running;
    await within(this.#timeoutMs, this.#queue.close()).catch(this.#outages.failed);
  }

  async #run(): Promise<void> {
    while (this.#next.jobs.size > 0) {
      const batch = this.#next;
      this.#next = newBatch();
      await this.#make([...batch.jobs.values()]);
      batch.settled.resolve();
    }
    this.#running = null;
  }

  async #make(jobs: QueuedRing[]): Promise<void> {
    for (let start = 0; start < jobs.length; start += BATCH_MAX) {
      try {
        await this.#add(jobs.slice(start, start + BATCH_MAX));
        this.#outages.answered();
      } catch (error) {
        // The rest would fare no better: it is left to the reconciler rather than kept waiting.
        return this.#outages.failed(error);
      }
    }
  }

  async #add(jobs: QueuedRing[]): Promise<void> {
    if (this.#abandoned >= ABANDONED_MAX) throw new Error('the queue has not answered since its last failure');
    this.#abandoned += 1;
    const added = this.#queue.addBulk(jobs.map(({ name, data, opts }) => ({ name, data, opts })));
    const isOver = (): void => void (this.#abandoned -= 1);
    added.then(isOver, isOver);
    await within(this.#timeoutMs, added);
  }
}

/** Rings that travel together, by job id: one that is repeated while it waits is one. */
interface Batch {
  jobs: Map<string, QueuedRing>;
  settled: PromiseWithResolvers<void>;
}

function newBatch(): Batch {
  return { jobs: new Map(), settled: Promise.withResolvers<void>() };
}

/** The value of the promise, or a rejection when it takes longer. */
async function within<Value>(timeoutMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the queue did not answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
