// One command in the background, from its start to its end: it runs beyond the call that started
// it, in a process group that ends with this process, its output goes to a log, its input stays
// open. Rows and leases are the keeper's business.
import { once } from 'node:events';
import { endEscaped, endProcessGroup, isGroupAlive } from './process-group.ts';
import { releaseProcessGroup } from './process-guard.ts';
import type { ProcessLog } from './process-log.ts';
import { drained, LEFTOVER_GRACE_MS, readEnd, startShell, type ShellStart, type StartedShell } from './start-shell.ts';

/** Between TERM and KILL. */
export const KILL_GRACE_MS = 2_000;

interface ShellParts {
  log: ProcessLog;
  onChange: () => void;
}

export class BackgroundShell {
  readonly log: ProcessLog;
  /** The process group, and the process that leads it. */
  readonly groupId: number;
  /**
   * Resolves when everything that it started has ended and its output is written. Never rejects.
   */
  readonly over: Promise<void>;
  /** Called when there is more output, and at the end. */
  readonly #onChange: () => void;
  readonly #started: StartedShell;
  #endReason: string | null = null;
  #ending: Promise<void> | null = null;
  #isOver = false;

  private constructor(started: StartedShell, { log, onChange }: ShellParts) {
    this.#started = started;
    this.groupId = started.groupId;
    this.log = log;
    this.#onChange = onChange;
    this.over = this.#follow(once(started.shell, 'exit'));
  }

  /** Starts the shell; the command begins with `go`. Throws when the shell cannot be started. */
  static async start(command: Omit<ShellStart, 'stdin'>, parts: ShellParts): Promise<BackgroundShell> {
    return new BackgroundShell(await startShell({ ...command, stdin: 'open' }), parts);
  }

  get #shell(): StartedShell['shell'] {
    return this.#started.shell;
  }

  /** Lets the command begin. */
  go(): void {
    this.#shell.stdin.write('go\n');
  }

  /** Why it was ended; null: it was not. */
  get endReason(): string | null {
    return this.#endReason;
  }

  get exitCode(): number | null {
    return readEnd(this.#started).exitCode;
  }

  get exitSignal(): NodeJS.Signals | null {
    return readEnd(this.#started).exitSignal;
  }

  /**
   * Writes to its standard input; `isLast` closes it. Data that can no longer be written is
   * dropped.
   */
  write(data: string, isLast: boolean): void {
    const { stdin } = this.#shell;
    if (!stdin.writable) return;
    if (data !== '') stdin.write(data);
    if (isLast) stdin.end();
  }

  /**
   * Ends the whole group, TERM and then KILL, and resolves when it has ended. The first reason is
   * kept.
   */
  async end(reason: string, graceMs = KILL_GRACE_MS): Promise<void> {
    // The number of a group that has ended may belong to another group by now.
    if (this.#isOver) return;
    if (this.#shell.exitCode === null && this.#shell.signalCode === null) this.#endReason ??= reason;
    this.#ending ??= endProcessGroup(this.groupId, graceMs);
    await this.#ending;
    await this.over;
  }

  async #follow(exited: Promise<unknown>): Promise<void> {
    const written = this.#writeLog();
    await exited.catch(() => undefined);
    if (this.#ending !== null) await this.#ending;
    else if (await isGroupAlive(this.groupId)) await endProcessGroup(this.groupId, LEFTOVER_GRACE_MS);
    await endEscaped(this.#started.trace, LEFTOVER_GRACE_MS);
    this.#isOver = true;
    releaseProcessGroup(this.groupId);
    await drained(written);
    this.#shell.stdout.destroy();
    await written;
    await this.log.close().catch(() => undefined);
    this.#onChange();
  }

  /** The pipe is read as fast as the log takes it: a command that prints too fast waits. */
  async #writeLog(): Promise<void> {
    let isBroken = false;
    try {
      for await (const chunk of this.#shell.stdout as AsyncIterable<Buffer>) {
        // A log that cannot be written (a full disk) must not hold the command up.
        if (!isBroken) await this.log.append(chunk).catch(() => (isBroken = true));
        this.#onChange();
      }
    } catch {
      // Destroyed: a process that keeps the pipe open has left the group.
    }
  }
}
