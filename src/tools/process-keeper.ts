// Keeps the commands in the background of one worker. Each has a row that names its owner; the
// keeper renews the leases of its own commands, executes the requests of other processes (kill,
// input), and stores how they end. It also finds the commands of crashed workers: these become
// `lost`, are ended where that is possible, and their sessions are notified. So no command ends
// without a notice, and none acts for a session that was stopped.
//
//   begin row ──▶ start shell ──▶ note pid ──▶ go        (crash before `go`: nothing has run; after: the guard ends the group)
//   running ──ends by itself──▶ exited
//      │  └─ kill, /stop, too long, the worker leaves ──▶ killed
//      └─ its worker no longer renews it ──▶ lost
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../clock.ts';
import {
  endNotice,
  type LostProcess,
  type NewProcess,
  type ProcessControl,
  type ProcessEnd,
  type ProcessFacts,
  type ProcessLease,
  type ProcessStart,
} from './rules/background-process.ts';
import { newId } from '../ids.ts';
import { Lease, LeaseKeeper } from '../lease-keeper.ts';
import type { Logger, OutageLog } from '../logger.ts';
import { BackgroundShell, KILL_GRACE_MS } from './background-shell.ts';
import { outputText } from './bounded-output.ts';
import { machineName, readStartedTicks, endProcessGroup } from './process-group.ts';
import { ProcessLog, readProcessLog, trimProcessLogs } from './process-log.ts';
import type { CallLease, ToolCall } from './tool.ts';
import type { ShellStart } from './start-shell.ts';

export interface ProcessKeeperOptions {
  store: ProcessStore;
  /** Outputs are kept below it. */
  dataDir: string;
  /** Names this process among the owners; never used twice. */
  worker: string;
  leaseMs: number;
  /** The longest that a command may run, in any worker that shares the outputs. */
  runMsMax: number;
  logger: Logger;
  /**
   * Faults of the database are part of its outage: a line for each check would be four stacks per
   * second.
   */
  outages: Pick<OutageLog, 'report'>;
}

const RUNNING_PER_SESSION_MAX = 8;
const RUNNING_PER_WORKER_MAX = 64;
/** How often a worker polls for requests of others to its processes. */
const POLL_MS = 250;
const TAIL_BYTES = 2_000;
const TRIM_MS = 3_600_000;
/** How long outputs and inputs of ended commands are kept. */
const KEPT_MS = 24 * 3_600_000;
/** How long a worker that leaves waits for its processes to be over and their rows to be closed. */
const STOP_MS = 5_000;

export class ProcessKeeper {
  readonly #options: ProcessKeeperOptions;
  readonly #kept = new Map<string, RunningCommand>();
  readonly #leases: LeaseKeeper<Lease>;
  readonly #timers: NodeJS.Timeout[] = [];
  #starting = 0;
  #isStopped = false;
  #polling: Promise<void> | null = null;
  #machine: string | undefined;

  constructor(options: ProcessKeeperOptions) {
    this.#options = options;
    const { store, worker, leaseMs, outages } = options;
    this.#leases = new LeaseKeeper({
      leaseMs,
      clock: systemClock,
      of: 'commands in the background',
      outages,
      renew: (held) => store.renew({ worker, leaseMs, ids: held.map(({ id }) => id) }),
      // A command that lasts longer than an outage of the database is not lost with it.
      runsOn: true,
    });
  }

  /** Starts looking and sweeping; `stop` ends it. */
  start(): void {
    const { store, logger, leaseMs, dataDir } = this.#options;
    const every = (ms: number, work: () => Promise<void>): void => {
      this.#timers.push(setInterval(() => void work().catch((error: unknown) => this.#warn(error)), ms));
    };
    every(Math.min(POLL_MS, leaseMs / 2), () => this.poll());
    every(leaseMs / 2, () => sweepLost({ store, logger }));
    // Another worker's command may have been silent since it began.
    const trim = async (): Promise<void> => {
      await trimProcessLogs(dataDir, KEPT_MS + this.#options.runMsMax, (id) => this.#kept.has(id));
      await store.trimInputs(KEPT_MS);
    };
    every(TRIM_MS, trim);
    void trim().catch((error: unknown) => this.#warn(error));
  }

  /** Ends what still runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    const ended = [...this.#kept.values()].map(async (kept) => {
      await kept.shell.end('the worker was shut down');
      await kept.closed;
    });
    await Promise.race([Promise.all(ended), delay(STOP_MS, undefined, { ref: false })]);
    this.#leases.stop();
  }

  /**
   * Starts a command and waits a while for its end. Rejects with the reason of an abort in that
   * while, having ended the command.
   */
  async run(start: BackgroundCommand): Promise<BackgroundStart> {
    const { call, yieldMs } = start;
    const begun = await this.#begin(start);
    if (begun.kind === 'refused') return begun;
    const { kept } = begun;
    await this.wait(kept.id, { untilEnd: true, seenBytes: 0, timeoutMs: yieldMs, signal: call.signal });
    if (call.signal.aborted) {
      kept.waiters += 1;
      await kept.shell.end('the call was stopped');
      await kept.closed;
      throw call.signal.reason;
    }
    const { id, shell } = kept;
    if (this.#kept.has(id)) return { kind: 'left', id };
    const { exitCode, exitSignal, endReason: reason } = shell;
    return { kind: 'over', id, end: { exitCode, exitSignal, reason } };
  }

  /**
   * Waits until a process of this worker has more output than `seenBytes` or (`untilEnd`: only) has
   * ended, at most for the time given and not longer than the signal allows. It has a waiter
   * meanwhile. Answers whether the process is one of this worker.
   */
  async wait(id: string, { untilEnd, seenBytes, timeoutMs, signal }: CommandWait): Promise<boolean> {
    const kept = this.#kept.get(id);
    if (kept === undefined) return false;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (): void => {
      const hasMore = !untilEnd && kept.shell.log.totalBytes > seenBytes;
      if (hasMore || signal.aborted || !this.#kept.has(id)) resolve();
    };
    const timer = setTimeout(resolve, timeoutMs);
    kept.listeners.add(check);
    signal.addEventListener('abort', check);
    kept.waiters += 1;
    check();
    await promise;
    kept.waiters -= 1;
    clearTimeout(timer);
    kept.listeners.delete(check);
    signal.removeEventListener('abort', check);
    return true;
  }

  /** How much a process of this worker has printed; undefined: it is none. */
  printed(id: string): number | undefined {
    return this.#kept.get(id)?.shell.log.totalBytes;
  }

  /** Reads and executes the requests of other processes for this worker's commands immediately. */
  poll(): Promise<void> {
    this.#polling ??= this.#pollOnce().finally(() => (this.#polling = null));
    return this.#polling;
  }

  async #begin(
    start: BackgroundCommand,
  ): Promise<{ kind: 'begun'; kept: RunningCommand } | { kind: 'refused'; reason: string }> {
    if (this.#isStopped) return { kind: 'refused', reason: 'the worker is shutting down' };
    if (this.#kept.size + this.#starting >= RUNNING_PER_WORKER_MAX) {
      return {
        kind: 'refused',
        reason: `${RUNNING_PER_WORKER_MAX} background commands already run in this worker, the limit; try again later`,
      };
    }
    const id = newId<string>();
    this.#starting += 1;
    try {
      const askedAtMs = systemClock.monotonicMs();
      const refusal = await this.#beginRow(id, start);
      if (refusal !== null) return { kind: 'refused', reason: refusal };
      const { leaseMs } = this.#options;
      const own = this.#leases.keep(new Lease({ id, leaseMs, clock: systemClock, askedAtMs }));
      return { kind: 'begun', kept: await this.#startShell(own, start) };
    } finally {
      this.#starting -= 1;
    }
  }

  async #beginRow(id: string, { call, command, workdir }: BackgroundCommand): Promise<string | null> {
    const { store, worker, leaseMs } = this.#options;
    call.signal.throwIfAborted();
    const begun = await store.begin({
      id,
      sessionKey: call.sessionKey,
      epoch: call.lease.epoch,
      turnId: call.turnId,
      causeKey: call.idempotencyKey,
      command,
      workdir,
      worker,
      machine: (this.#machine ??= await machineName()),
      leaseMs,
      runningMax: RUNNING_PER_SESSION_MAX,
    });
    switch (begun) {
      case 'begun':
        return null;
      case 'known':
        return 'this call has already started its command';
      case 'closed':
        return 'the turn has ended';
      case 'too-many':
        return `${RUNNING_PER_SESSION_MAX} background commands of this session already run, the limit; end one with process kill`;
    }
  }

  /** `own` is the lease of the command, beside that of its session, which ends with the turn. */
  async #startShell(own: Lease, start: BackgroundCommand): Promise<RunningCommand> {
    const { store, dataDir, worker } = this.#options;
    const { id } = own;
    const listeners = new Set<() => void>();
    const notify = (): void => listeners.forEach((listener) => listener());
    let shell: BackgroundShell;
    try {
      const log = await ProcessLog.create(dataDir, id);
      shell = await BackgroundShell.start(start, { log, onChange: notify });
    } catch (error) {
      const reason = `it could not be started: ${(error as Error).message}`;
      const none = { exitCode: null, exitSignal: null, outputBytes: 0, outputTail: '', notice: null };
      this.#leases.drop(id);
      await store.end({ id, worker, status: 'killed', reason, ...none });
      throw error;
    }
    const kept: RunningCommand = { id, shell, lastInput: 0, waiters: 0, listeners, closed: Promise.resolve() };
    this.#kept.set(id, kept);
    kept.closed = this.#close(kept, start.timeoutMs);
    // Another worker has closed the row: this one was paused for too long.
    own.signal.addEventListener('abort', () => void shell.end('its lease expired'));
    const isWanted = await this.#noteStart(kept, start.call.lease, own);
    if (isWanted && !this.#isStopped) shell.go();
    else void shell.end(isWanted ? 'the worker was shut down' : 'it was stopped before it started');
    return kept;
  }

  /**
   * Writes down which process it is, before it begins; answers whether it may. Throws when a lease
   * has run out meanwhile.
   */
  async #noteStart(kept: RunningCommand, lease: CallLease, own: Lease): Promise<boolean> {
    const { id, shell } = kept;
    try {
      const startedTicks = await readStartedTicks(shell.groupId);
      const isWanted = await this.#options.store.noteStart({
        id,
        epoch: lease.epoch,
        pid: shell.groupId,
        startedTicks,
      });
      lease.assertHeld();
      own.assertHeld();
      return isWanted;
    } catch (error) {
      kept.waiters += 1;
      await shell.end('it was ended before it started');
      throw error;
    }
  }

  /** Waits for the end of a process and closes its row. */
  async #close(kept: RunningCommand, timeoutMs: number): Promise<void> {
    const { id, shell, listeners } = kept;
    const { store, worker, dataDir } = this.#options;
    const timer = setTimeout(() => void shell.end(`it ran longer than ${timeoutMs / 1000} s`), timeoutMs);
    await shell.over;
    clearTimeout(timer);
    const logged = await readProcessLog({ dataDir, id }, { from: -TAIL_BYTES, bytesMax: TAIL_BYTES }).catch(() => null);
    const outputTail = logged === null ? '' : outputText(logged.bytes, { isStart: logged.from === 0, isEnd: true });
    const { exitCode, exitSignal, endReason: reason } = shell;
    const status = reason === null ? 'exited' : 'killed';
    const outputBytes = shell.log.totalBytes;
    const end = { id, worker, status, exitCode, exitSignal, reason, outputBytes, outputTail } as const;
    const notice = kept.waiters > 0 ? null : endNotice(end);
    await store.end({ ...end, notice }).catch((error: unknown) => this.#warn(error));
    this.#kept.delete(id);
    // If its end could not be stored, its lease expires, and its session is notified.
    this.#leases.drop(id);
    for (const listener of listeners) listener();
  }

  async #pollOnce(): Promise<void> {
    if (this.#kept.size === 0) return;
    const asked = [...this.#kept.values()].map(({ id, lastInput }) => ({ id, lastInput }));
    for (const { id, killReason, inputs } of await this.#options.store.readControls(asked)) {
      const kept = this.#kept.get(id);
      if (kept === undefined) continue;
      for (const { n, data, isLast } of inputs) {
        kept.shell.write(data, isLast);
        kept.lastInput = Math.max(kept.lastInput, n);
      }
      if (killReason !== null) void kept.shell.end(killReason);
    }
  }

  #warn(error: unknown): void {
    this.#options.outages.report(error, 'Background commands could not be checked; the next check retries');
  }
}

/** A command in the background, as it is requested. */
interface BackgroundCommand extends Omit<ShellStart, 'stdin' | 'signal'> {
  call: ToolCall;
  /** The longest it may run. */
  timeoutMs: number;
  /** How long to wait for its end before it is left to itself. */
  yieldMs: number;
}

/**
 * `left`: it continues in the background. `over`: it ended during the wait. `refused`: it was not
 * started.
 */
type BackgroundStart =
  | { kind: 'left'; id: string }
  | { kind: 'over'; id: string; end: Pick<ProcessFacts, 'exitCode' | 'exitSignal' | 'reason'> }
  | { kind: 'refused'; reason: string };

/** What its worker knows of a command while it runs. */
interface RunningCommand {
  id: string;
  shell: BackgroundShell;
  /** The last input that was written. */
  lastInput: number;
  /** How many calls wait for it: they receive its end, so the session need not be notified. */
  waiters: number;
  /** Called after changes. */
  listeners: Set<() => void>;
  /** Resolves when the row is closed, too. */
  closed: Promise<void>;
}

interface CommandWait {
  /** True: only the end counts, and not more output. */
  untilEnd: boolean;
  /** How much of the output the caller has. */
  seenBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Finds background commands whose worker has crashed: their rows are closed as `lost`, their
 * sessions are notified, and where the process is on this machine and certainly the same, its group
 * is ended. Any worker may do it for all.
 */
async function sweepLost({ store, logger }: Pick<ProcessKeeperOptions, 'store' | 'logger'>): Promise<void> {
  for (const { id, machine, pid, startedTicks } of await store.takeLost()) {
    logger.warn({ processId: id }, 'Background command was lost');
    if (pid === null || startedTicks === null || machine !== (await machineName())) continue;
    if ((await readStartedTicks(pid)) === startedTicks) await endProcessGroup(pid, KILL_GRACE_MS);
  }
}

/**
 * What commands in the background need of the database: a row for each, its owner, and the requests
 * of other processes. Implemented by `src/kernel/turn/journal/processes.ts`.
 */
export interface ProcessStore {
  /**
   * The row of a command that is about to start. `closed`: its turn has ended, or the session was
   * claimed again.
   */
  begin(process: NewProcess): Promise<'begun' | 'known' | 'closed' | 'too-many'>;
  /**
   * Notes the process of a row; false: it must not begin, its session was stopped or claimed again
   * meanwhile.
   */
  noteStart(start: ProcessStart): Promise<boolean>;
  /** Closes the row, unless it is closed, and notifies the session. */
  end(end: ProcessEnd): Promise<void>;
  /**
   * Renews the leases of these processes of a worker; answers with those that are still its own.
   */
  renew(lease: ProcessLease): Promise<ReadonlySet<string>>;
  /**
   * The requests of other processes for these commands; commands without a request are left out.
   */
  readControls(processes: readonly { id: string; lastInput: number }[]): Promise<ProcessControl[]>;
  /** Closes the rows whose worker no longer renews them, and notifies their sessions. */
  takeLost(): Promise<LostProcess[]>;
  /** The processes of a session: those that run, then the latest of the others. */
  list(sessionKey: string, rowsMax: number): Promise<ProcessFacts[]>;
  /** One of them; null: the session has none of that id. */
  find(sessionKey: string, id: string): Promise<ProcessFacts | null>;
  /** Asks for the end of a process that runs. */
  askToKill(id: string, reason: string): Promise<void>;
  /** Adds to the input of a process, once for each cause. */
  addInput(input: { processId: string; causeKey: string; data: string; isLast: boolean }): Promise<void>;
  /** Deletes the input of processes that ended this long ago. */
  trimInputs(keptMs: number): Promise<void>;
  /**
   * Notes that a call is shown the output up to `until`; answers from where on. The same call is
   * answered the same.
   */
  notePoll(poll: { id: string; key: string; until: number }): Promise<{ from: number; until: number }>;
}
