// Replaces this process by one with the flags and the environment of a service. The process id
// stays the same, so signals and service managers still reach the service.
//
// - The flags of Node that `bin.mjs` lists. Some have an effect only on the command line of Node,
//   and not all may stand in NODE_OPTIONS.
// - No secrets in the environment: the kernel shows the environment that a process was started with
//   to every process of the same user
//   (/proc/<pid>/environ), including the commands of agents. The new process finds its secrets in
//   an open
//   file without a name, takes them into its memory, and closes the file.
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processEnvironment, takeEnvironment } from '../config/process-environment.ts';
import { isSecretVariable } from '../config/secrets.ts';

/** Says that standard input is the file with the secrets. */
const MARK = 'HOLDFAST_SECRETS_ON_STDIN';
const STDIN = 0;
/** A millisecond apart. */
const OPENINGS_MAX = 5_000;

type Variables = Record<string, string>;

/** False on Windows, and for a child with a channel to its parent, which it would lose. */
function canReplaceItself(): boolean {
  return process.platform !== 'win32' && process.channel === undefined && process.execve !== undefined;
}

/**
 * Whether a service that is started as this process was gets the flags: from itself, or from the
 * command that started Node.
 */
export function hasFlagsOfService(): boolean {
  return canReplaceItself() || process.execArgv.includes('--disable-sigusr1');
}

/**
 * Starts this command line again as a service, with these flags of Node in addition, unless it has
 * nothing to change. Does not return when it does. A process that cannot replace itself continues
 * unchanged, and the listener of `bin.mjs` keeps the debugger closed.
 */
export function relaunchAsService(argv: readonly string[], flags: readonly string[]): void {
  const environment = processEnvironment();
  if (environment[MARK] === '1') return takeSecrets();
  if (!canReplaceItself()) return;
  const { open, secret } = divide(environment);
  const hasSecrets = Object.keys(secret).length > 0;
  if (flags.length === 0 && !hasSecrets) return;
  if (hasSecrets) leaveOnStdin(secret);
  const script = process.argv[1] ?? '';
  const mark = hasSecrets ? { [MARK]: '1' } : {};
  const command = [process.execPath, ...process.execArgv, ...flags, script, ...argv];
  process.execve?.(process.execPath, command, { ...open, ...mark });
}

function divide(environment: Readonly<Record<string, string | undefined>>): { open: Variables; secret: Variables } {
  const divided: { open: Variables; secret: Variables } = { open: {}, secret: {} };
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    // Commands see no HOLDFAST_ variable, but only keys among them are secrets: the others are no
    // reason to start again.
    const isSecret = isSecretVariable(name.replace(/^HOLDFAST_/, ''), value);
    divided[isSecret ? 'secret' : 'open'][name] = value;
  }
  return divided;
}

/**
 * Only the standard streams survive the replacement. What is opened takes the lowest free number,
 * so that of the stream that was closed; another thread of Node may take it first, for as long as
 * it reads a file.
 */
function leaveOnStdin(secret: Variables): void {
  // In memory where there is a folder for that.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'holdfast-'));
  const path = join(folder, 'environment');
  try {
    writeFileSync(path, JSON.stringify(secret), { flag: 'wx', mode: 0o600 });
    closeSync(STDIN);
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    for (let tries = 1; ; tries += 1) {
      const file = openSync(path, 'r');
      if (file === STDIN) return;
      closeSync(file);
      if (tries === OPENINGS_MAX)
        throw new Error(`the secrets must be standard input, but their file has number ${file}. Start it again.`);
      Atomics.wait(sleeper, 0, 0, 1);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function takeSecrets(): void {
  const bytes = Buffer.alloc(fstatSync(STDIN).size);
  readSync(STDIN, bytes, 0, bytes.length, 0);
  closeSync(STDIN);
  openSync('/dev/null', 'r');
  // What a process adds to its environment later, the kernel does not show. The file is ours: names
  // and texts.
  takeEnvironment(JSON.parse(bytes.toString()) as Variables, MARK);
}
