// The reports of this process: they update its row in the table of workers, and read from it
// whether the process must drain.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { longestFileCall } from '../src/files/file-slots.ts';
import { newId } from '../src/ids.ts';
import { WORKER_REPORT_MS } from '../src/kernel/rules/why.ts';
import type { Database } from '../src/database/database.ts';
import type { SandboxState } from '../src/tools/sandbox/sandbox.ts';
import {
  removeWorker,
  reportWorker,
  type LaneUse,
  type WorkerIdentity,
} from '../src/kernel/processes/report-worker.ts';

/** How often the delay of the event loop is measured, in milliseconds. */
const LOOP_RESOLUTION_MS = 20;

/** A file call that has not ended after this time is reported, in milliseconds. */
const FILE_HANGS_MS = 5_000;

export interface ReporterOptions {
  database: Database;
  identity: WorkerIdentity;
  /** The lanes of this process as they are now. */
  lanes: () => Record<string, LaneUse>;
  isQueueAway: () => boolean;
  /** True when the reconciler of this process has not completed a round for a while. */
  isReconcilerStalled: () => boolean;
  /** What its commands run in, if it runs any and knows. */
  sandbox?: () => SandboxState | null;
  /**
   * Called with the names of processes whose loss this one has noticed first; absent: nothing
   * follows. Must not throw.
   */
  onLost?: ((names: readonly string[]) => void) | undefined;
  /** Between two reports, in milliseconds. */
  everyMs?: number;
}

export interface ProcessReporter {
  /** The lanes of this process, as its reports say. */
  lanes(): Record<string, LaneUse>;
  /** Resolves when a person has asked this process to drain. */
  drainRequested: Promise<void>;
  /**
   * Reports that the process drains. Reports continue until `stop`, so that a long drain does not
   * look like a crash.
   */
  startDrain(): void;
  /** How long ago the last report was written, in milliseconds. */
  ageMs(): number;
  /** Ends the reports and deletes the row. */
  stop(): Promise<void>;
}

/** The facts that a process of these roles reports; made once per process. */
export function readIdentity(roles: readonly string[]): WorkerIdentity {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const [id, host, pid] = [newId<string>(), hostname(), process.pid];
  return { id, name: `${host}:${pid}:${id}`, host, pid, roles, version };
}

/**
 * Reports now, and then every 3 s. Resolves with the first report, and rejects when it cannot be
 * written.
 */
export async function startReports({
  database,
  identity,
  lanes,
  isQueueAway,
  isReconcilerStalled,
  sandbox,
  onLost,
  everyMs = WORKER_REPORT_MS,
}: ReporterOptions): Promise<ProcessReporter> {
  const { promise: drainRequested, resolve: requestDrain } = Promise.withResolvers<void>();
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delay.enable();
  let isDraining = false;
  let isReporting = false;
  let reportedAtMs = performance.now();
  let last: Promise<void> = Promise.resolve();

  async function report(): Promise<void> {
    const facts = {
      lanes: lanes(),
      isQueueAway: isQueueAway(),
      isDraining,
      isReconcilerStalled: isReconcilerStalled(),
      hangingPath: findHangingPath(),
      memoryBytes: process.memoryUsage.rss(),
      loopDelayMs: loopDelayOf(delay),
      sandbox: sandbox?.() ?? null,
    };
    delay.reset();
    const answer = await reportWorker(database, identity, facts);
    if (answer.isDraining) requestDrain();
    if (answer.lost.length > 0) onLost?.(answer.lost);
    reportedAtMs = performance.now();
  }

  /** A report that fails is followed by the next one. */
  function reportAgain(): void {
    isReporting = true;
    last = last
      .then(report)
      .catch((error: unknown) => database.outages.report(error, 'Report of this process failed; the next one retries'))
      .finally(() => (isReporting = false));
  }

  await report();
  const timer = setInterval(() => {
    if (!isReporting) reportAgain();
  }, everyMs);
  return {
    lanes,
    drainRequested,
    ageMs: () => performance.now() - reportedAtMs,
    startDrain() {
      isDraining = true;
      // A database that is away must not delay the drain, so nothing waits for the report.
      reportAgain();
    },
    async stop() {
      clearInterval(timer);
      delay.disable();
      await last;
      await removeWorker(database, identity.id).catch((error: unknown) =>
        database.outages.report(error, 'Row of this process was not deleted; it counts as lost until it is'),
      );
    },
  };
}

function findHangingPath(): string | null {
  const call = longestFileCall();
  return call !== null && call.ms >= FILE_HANGS_MS ? call.path : null;
}

/**
 * The delay beyond the interval of the measurement, in milliseconds; the first report is before the
 * first measurement.
 */
function loopDelayOf(delay: ReturnType<typeof monitorEventLoopDelay>): number {
  return delay.count === 0 ? 0 : Math.max(0, delay.percentile(99) / 1e6 - LOOP_RESOLUTION_MS);
}
