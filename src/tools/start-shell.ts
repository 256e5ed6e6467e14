// Starts the shell of a command, as the leader of a new process group that ends with this process.
// Its environment is this process's without anything secret (G31).
import { isSecretVariable } from '../config/secrets.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { OsUser } from '../config/places.ts';
import { LEFTOVERS_FD } from './sandbox/rules/bubblewrap.ts';
import { withFileSlot } from '../files/file-slots.ts';
import { HeldFolder } from '../files/held-folder.ts';
import { processesNow, type CommandTrace } from './process-group.ts';
import { guardProcessGroup } from './process-guard.ts';
import type { WrapCommand, WrappedCommand } from './sandbox/port.ts';

/**
 * The variables of `environment` that a command can see, with the call's idempotency key for
 * changes that the command makes elsewhere.
 */
export function execEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  idempotencyKey: string,
): Record<string, string> {
  const visible = Object.entries(environment).filter(
    (variable): variable is [string, string] =>
      variable[1] !== undefined && !isSecretVariable(variable[0], variable[1]),
  );
  return { ...Object.fromEntries(visible), TERM: 'dumb', HOLDFAST_IDEMPOTENCY_KEY: idempotencyKey };
}

/** For processes that a command left running in the background when it ended by itself. */
export const LEFTOVER_GRACE_MS = 500;
/**
 * How long to wait for the end of the output once the group has ended; a process that left the
 * group can hold it open.
 */
const DRAIN_MS = 250;

export interface ShellStart {
  command: string;
  /** A real path. A command is not started where another folder has taken its place. */
  workdir: string;
  environment: Record<string, string>;
  /** The user that runs it; null: the user of this process. */
  user: OsUser | null;
  /** Brings it into the sandbox; absent or null: it runs outside. */
  wrap?: WrapCommand | null;
  /**
   * The command's standard input: empty, or the bytes that are written after the line that starts
   * it.
   */
  stdin: 'empty' | 'open';
  /** When it is aborted, no shell is started; absent: never. */
  signal?: AbortSignal;
}

export interface StartedShell {
  shell: ReturnType<typeof spawnShell>;
  /** The process group, and the process that leads it. */
  groupId: number;
  trace: CommandTrace;
  isWrapped: boolean;
  /**
   * True once a sandbox has said that the command left processes running, which have ended with it.
   */
  hadLeftovers: () => boolean;
}

/**
 * Starts the shell; the command begins with the line `go`. Throws when the shell cannot be started,
 * or is not to be.
 */
export async function startShell(command: ShellStart): Promise<StartedShell> {
  command.signal?.throwIfAborted();
  const trace = { before: await processesNow(), key: command.environment['HOLDFAST_IDEMPOTENCY_KEY'] };
  command.signal?.throwIfAborted();
  const { workdir, signal } = command;
  const close = (held: HeldFolder): void => held.close();
  const folder = await withFileSlot(workdir, () => HeldFolder.open(workdir), { signal, close });
  let shell: ReturnType<typeof spawnShell>;
  try {
    shell = spawnShell(command, folder);
  } finally {
    folder.close();
  }
  if (shell.pid === undefined) await once(shell, 'spawn');
  // Without an id it was not spawned, and the line above has thrown.
  const groupId = shell.pid as number;
  guardProcessGroup(groupId);
  const left = shell.stdio[LEFTOVERS_FD] as Readable | undefined;
  let hasLeft = false;
  left?.on('data', () => (hasLeft = true)).on('error', () => undefined);
  return { shell, groupId, trace, isWrapped: left !== undefined, hadLeftovers: () => hasLeft };
}

/**
 * How a shell ended, and whether the command had left processes running. A sandbox reports the
 * signal that ended its command as shells do, by an exit code above 128.
 */
export function readEnd({ shell, isWrapped }: Pick<StartedShell, 'shell' | 'isWrapped'>): {
  exitCode: number | null;
  exitSignal: NodeJS.Signals | null;
} {
  const { exitCode, signalCode: exitSignal } = shell;
  const signal = isWrapped && exitCode !== null ? SIGNAL_NAMES.get(exitCode - 128) : undefined;
  return signal === undefined ? { exitCode, exitSignal } : { exitCode: null, exitSignal: signal };
}

const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** Waits until the output is `closed`, or for the limit. */
export async function drained(closed: Promise<unknown>): Promise<void> {
  const limit = new AbortController();
  await Promise.race([closed, delay(DRAIN_MS, undefined, { signal: limit.signal }).catch(() => undefined)]);
  limit.abort();
}

/**
 * The outer sh waits for a line before it becomes the shell that runs the command: if this process
 * crashes before the group is guarded, the line is never sent and nothing runs. It gives the shell
 * one pipe for both of its outputs, so that their order is kept.
 */
function spawnShell({ command, workdir, environment, user, stdin, wrap = null }: ShellStart, folder: HeldFolder) {
  const from = stdin === 'empty' ? ' </dev/null' : '';
  const plain = { argv: shellFor(command), workdir, environment, user };
  const wrapped: WrappedCommand = wrap?.(plain) ?? plain;
  const { argv, environment: env, isOfService = false } = wrapped;
  const shell = spawn('/bin/sh', ['-c', `read -r go && exec "$@"${from} 2>&1`, 'sh', ...argv], {
    // The child enters it by the descriptor that it inherits from this process, before it becomes
    // another program.
    cwd: folder.at('.'),
    env,
    detached: true,
    // The folder is entered before the rights are dropped, so it may be below folders that the user
    // cannot enter.
    ...(user === null || isOfService ? {} : { uid: user.uid, gid: user.gid }),
    // The types know of three; a sandbox has one more.
    stdio: ['pipe', 'pipe', 'ignore', ...(wrap === null ? [] : ['pipe'])] as ['pipe', 'pipe', 'ignore'],
  });
  // It may be killed before it has read.
  shell.stdin.on('error', () => undefined);
  return shell;
}

/**
 * `--norc` because the pipes of Node are sockets, which bash takes for a login from another
 * machine. `--` because a command may begin with a dash.
 */
function shellFor(command: string): string[] {
  const shell = existsSync('/bin/bash') ? ['/bin/bash', '--norc'] : ['/bin/sh'];
  return [...shell, '-c', '--', command];
}
