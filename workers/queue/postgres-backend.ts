// BullMQ's PostgreSQL backend, with other implementations of the few operations that every job passes through: `postgres-exchange` fetches
// and finishes jobs in shared statements, `postgres-signal` wakes from one connection, and a job that is added where a worker sleeps is
// given to that worker immediately and stored as taken. All else is inherited.
//
// What must stay true: a taken job is passed to the worker, returned, or in the database as taken by us; a row is finished or returned only
// after it has been stored; and this backend sleeps only when it knows that its queue is empty (see `postgres-signal`).
import { randomUUID } from 'node:crypto';
import { PostgresQueueBackend, type JobJson, type PostgresConnection } from 'bullmq';
import { JOB_OPTIONS } from '../../jobs/index.ts';
import type { NewJob, PostgresExchange, TakenJob } from './postgres-exchange.ts';
import { pause, type PostgresSignal } from './postgres-signal.ts';

/** What all backends of a process share. */
export interface SharedPostgres {
  connection: PostgresConnection;
  exchange: PostgresExchange;
  signal: PostgresSignal;
  /** The consumers of this process, by queue: a ring made here goes to them without being looked for. */
  consumers: Map<string, PlainJobsBackend>;
  /** Called with errors of statements, each time. */
  onError: (error: Error) => void;
}

/** The answer to "take a job" in BullMQ's form: job, id, rate-limit delay, next delayed job. */
type NextJob = [JobJson | null, string, number, number];

const NOTHING: NextJob = [null, '', 0, 0];

/** Jobs taken by one statement for one worker: the rest is left to other processes. */
const TAKE_MAX = 16;

const RETRY_MS = 50;
const RETRY_MS_MAX = 500;

/** The backend of one queue: of a worker with `slots` places, or of a producer with none. */
export class PlainJobsBackend extends PostgresQueueBackend {
  readonly #shared: SharedPostgres;
  readonly #slots: number;
  readonly #token = randomUUID();
  /** Taken and not finished, returned or lost. */
  readonly #taken = new Set<string>();
  /** Taken and not yet fetched by the worker. */
  #ready: TakenJob[] = [];
  /** Passed to the worker while their rows are not stored yet. */
  readonly #arriving = new Map<string, Promise<unknown>>();
  #taking: Promise<boolean> | null = null;
  #failures = 0;
  /** The count of rings at which the queue was last found empty. */
  #emptyAtRing = -1;
  #interruption = new AbortController();

  constructor(shared: SharedPostgres, queueName: string, slots: number) {
    // The connection is not this backend's own: closing it would close all.
    super(shared.connection, queueName, { connection: shared.connection.pool }, false);
    this.#shared = shared;
    this.#slots = slots;
    if (slots === 0) return;
    shared.signal.hear(queueName);
    shared.consumers.set(queueName, this);
  }

  // The connection was tested when the process opened it; one that breaks later is restored by itself.
  override waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }

  override async close(): Promise<void> {
    await this.disconnectBlocking();
    await Promise.all(this.#arriving.values());
    // What stays is found stalled: not worth failing a shutdown for.
    await this.#shared.exchange.flush().catch(this.#shared.onError);
  }

  override async addJobs(entries: { job: JobJson; jobId: string }[]): Promise<string[]> {
    for (const { job } of entries) assertPlain(job);
    const jobs = entries.map(({ job, jobId }) => ({ id: jobId, name: job.name, data: job.data }));
    const consumer = this.#shared.consumers.get(this.queueName);
    if (consumer === undefined) {
      await this.#shared.exchange.add(this.queueName, jobs, { token: '', count: 0 });
    } else {
      await consumer.#addHere(jobs);
    }
    return entries.map(({ jobId }) => jobId);
  }

  override async addJob(job: JobJson, jobId: string): Promise<string> {
    await this.addJobs([{ job, jobId }]);
    return jobId;
  }

  override async moveToActive(): Promise<NextJob> {
    // Each round either finds a job, learns that there is none, or fails: bounded by the jobs that others take meanwhile.
    while (!this.#interruption.signal.aborted) {
      const job = this.#ready.shift();
      if (job !== undefined) return [jobJsonOf(job), job.id, 0, 0];
      if (this.#isKnownEmpty() || !(await this.#take())) return NOTHING;
    }
    return NOTHING;
  }

  // Both ends are one end: whether the work was done is written in the session's rows, not in the queue.
  override moveToCompleted(
    job: { id?: string },
    _value: unknown,
    _keep: unknown,
    _token: string,
    fetchNext: boolean,
  ): Finish {
    return this.#finish(job, fetchNext);
  }

  override moveToFailed(
    job: { id?: string },
    _why: string,
    _keep: unknown,
    _token: string,
    fetchNext: boolean,
  ): Finish {
    return this.#finish(job, fetchNext);
  }

  override async moveJobFromActiveToWait(jobId: string): Promise<number> {
    await this.#giveBack([jobId]);
    return 0;
  }

  override async moveStalledJobsToWait(): Promise<string[]> {
    return this.#shared.exchange.reclaim(this.queueName);
  }

  // A lock that could not be renewed is no error: the session is checked twice.
  override async extendLocks(jobIds: string[]): Promise<string[]> {
    await this.#shared.exchange.extend(this.queueName, this.#token, jobIds);
    return [];
  }

  override async waitForJob(timeoutSeconds: number): Promise<{ member: string; score: number } | null> {
    const isDue = (): boolean => this.#ready.length > 0 || !this.#isKnownEmpty();
    const rang = await this.#shared.signal.waitUntil(isDue, timeoutSeconds * 1000, this.#interruption.signal);
    return rang ? { member: this.queueName, score: 0 } : null;
  }

  override async disconnectBlocking(): Promise<void> {
    this.#interruption.abort();
    if (this.#shared.consumers.get(this.queueName) === this) this.#shared.consumers.delete(this.queueName);
    await this.#taking;
    await this.#giveBackUnused();
  }

  override async reconnectBlocking(): Promise<void> {
    this.#interruption = new AbortController();
    if (this.#slots > 0) this.#shared.consumers.set(this.queueName, this);
  }

  #isKnownEmpty(): boolean {
    return this.#shared.signal.rings(this.queueName) <= this.#emptyAtRing;
  }

  /**
   * Adds jobs, as many as this consumer has free slots for stored as taken by it: a single ring then costs one commit instead of
   * three, and is not waited for. Only while the queue is known to be empty, so that no job is overtaken. A job that already
   * exists, or whose row is never stored, causes one check too many: its session's rows decide.
   */
  async #addHere(jobs: NewJob[]): Promise<void> {
    const isIdle = this.#isKnownEmpty() && this.#taking === null && !this.#interruption.signal.aborted;
    const here = isIdle ? jobs.slice(0, Math.max(0, this.#freeSlots())) : [];
    const adding = this.#shared.exchange.add(this.queueName, jobs, { token: this.#token, count: here.length });
    if (here.length > 0) {
      const arrived = adding.catch(() => undefined).finally(() => here.forEach(({ id }) => this.#arriving.delete(id)));
      for (const { id } of here) this.#arriving.set(id, arrived);
      this.#hold(here.map((job) => takenNow(this.queueName, job)));
    }
    this.#shared.signal.nudge();
    await adding;
    if (this.#interruption.signal.aborted) await this.#giveBackUnused();
  }

  #freeSlots(): number {
    return this.#slots - this.#taken.size;
  }

  #hold(jobs: TakenJob[]): void {
    for (const job of jobs) this.#taken.add(job.id);
    this.#ready.push(...jobs);
  }

  /** Takes jobs into `#ready`; calls that overlap share one statement. False: it failed, and the time to try again has come. */
  #take(): Promise<boolean> {
    this.#taking ??= this.#takeOnce().finally(() => (this.#taking = null));
    return this.#taking;
  }

  async #takeOnce(): Promise<boolean> {
    let rings = -1;
    try {
      const { jobs, asked } = await this.#shared.exchange.take(this.queueName, this.#token, () => {
        rings = this.#shared.signal.rings(this.queueName);
        return Math.min(TAKE_MAX, Math.max(1, this.#freeSlots()));
      });
      this.#hold(jobs);
      if (jobs.length < asked) this.#emptyAtRing = Math.max(this.#emptyAtRing, rings);
      this.#failures = 0;
      return true;
    } catch (error) {
      this.#shared.onError(error as Error);
      this.#failures += 1;
      await pause(Math.min(RETRY_MS * 2 ** (this.#failures - 1), RETRY_MS_MAX), this.#interruption.signal);
      return false;
    }
  }

  async #finish(job: { id?: string }, fetchNext: boolean): Finish {
    const id = job.id ?? '';
    const leave = (): void => {
      this.#taken.delete(id);
      this.#shared.exchange.finish({ queue: this.queueName, id, token: this.#token });
    };
    const arriving = this.#arriving.get(id);
    if (arriving === undefined) leave();
    else void arriving.then(leave);
    return { result: fetchNext ? await this.moveToActive() : undefined, finishedOn: Date.now() };
  }

  async #giveBackUnused(): Promise<void> {
    const unused = this.#ready.map(({ id }) => id);
    this.#ready = [];
    await this.#giveBack(unused).catch(this.#shared.onError);
  }

  async #giveBack(ids: string[]): Promise<void> {
    await Promise.all(ids.flatMap((id) => this.#arriving.get(id) ?? []));
    for (const id of ids) this.#taken.delete(id);
    if (ids.length > 0) await this.#shared.exchange.giveBack(this.queueName, this.#token, ids);
  }
}

type Finish = Promise<{ result: NextJob | undefined; finishedOn: number }>;

/** What the shared statements leave out would be silently lost. */
function assertPlain(job: JobJson): void {
  const { delay, priority, repeat, deduplication, parent, lifo } = job.opts as Record<string, unknown>;
  if (delay || priority || repeat || deduplication || parent || lifo || job.parent || job.deduplicationId) {
    throw new Error(`job ${job.name} has options that the doorbell does not know: ${JSON.stringify(job.opts)}`);
  }
}

/** A job as it is in the database, or will be after the next commit: taken by us. */
function takenNow(queue: string, { id, name, data }: NewJob): TakenJob {
  return { queue, id, name, data, addedAtMs: Date.now(), attemptsStarted: 1, stalledCount: 0 };
}

function jobJsonOf(job: TakenJob): JobJson {
  return {
    id: job.id,
    name: job.name,
    data: job.data,
    opts: JOB_OPTIONS,
    progress: 0,
    attemptsMade: 0,
    attemptsStarted: job.attemptsStarted,
    timestamp: job.addedAtMs,
    processedOn: Date.now(),
    failedReason: '',
    returnvalue: 'null',
    stalledCounter: job.stalledCount,
  };
}
