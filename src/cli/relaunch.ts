// Replaces this process by one with the flags and the environment of a service. The process id stays the same, so signals and service
// managers still reach the service.
//
// - `--disable-sigusr1`: by default SIGUSR1 opens Node's debugger on a local port, and every local user can then run code in the service.
// - No secrets in the environment: the kernel shows the environment that a process was started with to every process of the same user
//   (/proc/<pid>/environ), including the commands of agents. The new process finds its secrets in an open
//   file without a name, takes them into its memory, and closes the file.
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processEnvironment, takeEnvironment } from '../config/process-environment.ts';
import { isSecretVariable } from '../config/secret-file.ts';

const NO_DEBUGGER = '--disable-sigusr1';
/** Says that standard input is the file with the secrets. */
const MARK = 'HOLDFAST_SECRETS_ON_STDIN';
const STDIN = 0;
/** A millisecond apart. */
const OPENINGS_MAX = 5_000;

type Variables = Record<string, string>;

/**
 * Starts this command line again as a service, unless it was. Does not return when it does. Where a process cannot replace itself
 * (Windows, a child with a channel to its parent), it continues unchanged, and the listener of `bin.mjs` keeps the debugger closed.
 */
export function relaunchAsService(argv: readonly string[]): void {
  const environment = processEnvironment();
  if (environment[MARK] === '1') return takeSecrets();
  if (process.execve === undefined || process.platform === 'win32' || process.channel !== undefined) return;
  const { open, secret } = divide(environment);
  const hasFlags = process.execArgv.includes(NO_DEBUGGER);
  const hasSecrets = Object.keys(secret).length > 0;
  if (hasFlags && !hasSecrets) return;
  if (hasSecrets) leaveOnStdin(secret);
  const script = process.argv[1] ?? '';
  const flags = hasFlags ? process.execArgv : [...process.execArgv, NO_DEBUGGER];
  const mark = hasSecrets ? { [MARK]: '1' } : {};
  process.execve(process.execPath, [process.execPath, ...flags, script, ...argv], { ...open, ...mark });
}

function divide(environment: Readonly<Record<string, string | undefined>>): { open: Variables; secret: Variables } {
  const divided: { open: Variables; secret: Variables } = { open: {}, secret: {} };
  for (const [name, value] of Object.entries(environment)) {
    if (value === undefined) continue;
    // Commands see no HOLDFAST_ variable, but only keys among them are secrets: the others are no reason to start again.
    const isSecret = isSecretVariable(name.replace(/^HOLDFAST_/, ''), value);
    divided[isSecret ? 'secret' : 'open'][name] = value;
  }
  return divided;
}

/**
 * Only the standard streams survive the replacement. What is opened takes the lowest free number, so that of the stream that was closed; another
 * thread of Node may take it first, for as long as it reads a file.
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
  // What a process adds to its environment later, the kernel does not show. The file is ours: names and texts.
  takeEnvironment(JSON.parse(bytes.toString()) as Variables, MARK);
}
