// A command in the background: how it is requested, what became of its start, and what its worker knows of it while it runs.
import type { OsUser } from '../config/os-users.ts';
import type { ProcessFacts } from './rules/background-process.ts';
import type { BackgroundShell } from './background-shell.ts';
import type { WrapCommand } from './sandbox/port.ts';
import type { ToolCall } from './tool.ts';

export interface BackgroundCommand {
  call: ToolCall;
  command: string;
  /** Absolute, existing. */
  workdir: string;
  environment: Record<string, string>;
  /** The user that runs it; null: the user of this process. */
  user: OsUser | null;
  /** Brings it into the sandbox; absent or null: it runs outside. */
  wrap?: WrapCommand | null;
  /** The longest it may run. */
  timeoutMs: number;
  /** How long to wait for its end before it is left to itself. */
  yieldMs: number;
}

/** `left`: it continues in the background. `over`: it ended during the wait. `refused`: it was not started. */
export type BackgroundStart =
  | { kind: 'left'; id: string }
  | { kind: 'over'; id: string; end: Pick<ProcessFacts, 'exitCode' | 'exitSignal' | 'reason'> }
  | { kind: 'refused'; reason: string };

export interface RunningCommand {
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

export interface CommandWait {
  /** True: only the end counts, and not more output. */
  untilEnd: boolean;
  /** How much of the output the caller has. */
  seenBytes: number;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Waits until a command has more output than was seen or (`untilEnd`: only) is gone, at most for the time given and not longer than the
 * signal allows. It has a waiter meanwhile.
 */
export async function waitFor(kept: RunningCommand, wait: CommandWait, isGone: () => boolean): Promise<void> {
  const { untilEnd, seenBytes, timeoutMs, signal } = wait;
  const { promise, resolve } = Promise.withResolvers<void>();
  const isOver = (): boolean => isGone() || signal.aborted || (!untilEnd && kept.shell.log.totalBytes > seenBytes);
  const check = (): void => {
    if (isOver()) resolve();
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
}
