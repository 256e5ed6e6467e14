// Runs one shell command in a process group of its own, and does not return before everything that
// it started has ended: a process that outlived its call could be neither stopped nor observed.
// Memory is bounded; nothing here waits without a limit.
import { once } from 'node:events';
import { BoundedOutput } from './bounded-output.ts';
import { endEscaped, endProcessGroup, isGroupAlive } from './process-group.ts';
import { releaseProcessGroup } from './process-guard.ts';
import { drained, LEFTOVER_GRACE_MS, readEnd, startShell, type ShellStart } from './start-shell.ts';

export interface Command extends Omit<ShellStart, 'stdin'> {
  outputBytesMax: number;
  /** Ends the command. */
  signal: AbortSignal;
  /**
   * Called right before the command begins; when it throws, the command does not begin. Absent:
   * nothing has to be held.
   */
  assertHeld?: () => void;
  /** How long the group may take to end after a TERM, by the reason of the abort. */
  killGraceMs: (reason: unknown) => number;
}

export interface CommandEnd {
  /** stdout and stderr in the order in which they were written. */
  output: string;
  /** Null when a signal ended the shell. */
  exitCode: number | null;
  exitSignal: NodeJS.Signals | null;
  /**
   * True when the signal ended it; false when it ended by itself, even if the signal aborted since.
   */
  wasAborted: boolean;
  /** True when it ended by itself and left processes in the background, which were then ended. */
  hadLeftovers: boolean;
  /** True when it had started processes that left its group; they were ended. */
  hadEscaped: boolean;
}

/**
 * Runs the command and returns how it ended, by itself or by the signal. Throws when the shell
 * cannot be started, when the signal was aborted before, or what `assertHeld` throws.
 */
export async function runCommand(command: Command): Promise<CommandEnd> {
  const { signal } = command;
  const started = await startShell({ ...command, stdin: 'empty' });
  const { shell, groupId, trace } = started;
  const output = new BoundedOutput(command.outputBytesMax);
  shell.stdout.on('data', (chunk: Buffer) => output.write(chunk));
  const closed = once(shell.stdout, 'close').catch(() => undefined);
  try {
    const exited = once(shell, 'exit');
    // Starting a shell takes long enough for this process to be paused: what it was allowed before
    // may no longer be allowed.
    command.assertHeld?.();
    shell.stdin.end('go\n');
    const wasAborted = await Promise.race([exited.then(() => false), aborted(signal)]);
    if (wasAborted) await endProcessGroup(groupId, command.killGraceMs(signal.reason));
    await exited;
    const hadLeftovers = !wasAborted && (await isGroupAlive(groupId));
    if (hadLeftovers) await endProcessGroup(groupId, LEFTOVER_GRACE_MS);
    const hadEscaped = await endEscaped(trace, LEFTOVER_GRACE_MS);
    await drained(closed);
    // For the rest of the pipe.
    await new Promise((resolve) => setImmediate(resolve));
    const left = hadLeftovers || (!wasAborted && started.hadLeftovers());
    return { output: output.text(), ...readEnd(started), wasAborted, hadLeftovers: left, hadEscaped };
  } finally {
    // A shell that receives no `go` reads the end of its input, and runs nothing.
    shell.stdin.destroy();
    shell.stdout.destroy();
    releaseProcessGroup(groupId);
  }
}

function aborted(signal: AbortSignal): Promise<true> {
  const { promise, resolve } = Promise.withResolvers<true>();
  if (signal.aborted) resolve(true);
  else signal.addEventListener('abort', () => resolve(true), { once: true });
  return promise;
}
