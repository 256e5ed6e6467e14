// Runs the command line as its users do: the script itself, in its own process, with pipes for
// stdout and stderr.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export const BIN = fileURLToPath(new URL('../../src/cli/bin.mjs', import.meta.url));

export interface CliOptions {
  /** Added to PATH and HOME; nothing else is inherited. */
  env?: Record<string, string>;
  cwd?: string;
  stdin?: string | Uint8Array;
  /** Called with the running process, for tests that send a signal. */
  onSpawn?: (child: ReturnType<typeof spawn>) => void;
}

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a command to its end. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: options.cwd ?? '/tmp',
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  options.onSpawn?.(child);
  child.stdin.end(options.stdin ?? '');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}
