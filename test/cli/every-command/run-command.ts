// Runs a command in a pipe, or at a terminal: `script` gives it one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { BIN } from '../run-cli.ts';
import type { RunningCommand } from './command-row.ts';

export const COLUMNS = 160;

const SOON_MS = 120_000;
const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

export interface CommandEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  args: readonly string[];
  /** Added to PATH; nothing else is inherited. */
  env: Record<string, string>;
  isAtTerminal?: boolean;
  /** At a terminal: a file for stderr. */
  stderrTo?: string;
  during?: (run: RunningCommand) => Promise<void>;
}

/** Runs a command to its end. At a terminal, stdout has everything that it shows. */
export async function runCommand({
  args,
  env,
  isAtTerminal = false,
  stderrTo,
  during,
}: RunOptions): Promise<CommandEnd> {
  const [file, flags] = isAtTerminal ? inTerminal(args, stderrTo) : [process.execPath, [BIN, ...args]];
  const child = spawn(file, flags, {
    cwd: '/tmp',
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const seen = { stdout: '', stderr: '', hasEnded: false };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (seen.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (seen.stderr += text));
  child.on('close', () => (seen.hasEnded = true));
  // It may end before it has read everything.
  child.stdin.on('error', () => undefined);
  const output = (): string => seen.stdout + seen.stderr;
  const run: RunningCommand = {
    output,
    until: async (pattern) => {
      await waitUntil(`the output has ${pattern}`, SOON_MS, () => pattern.test(output()) || seen.hasEnded);
      if (!pattern.test(output())) throw new Error(`${args.join(' ')} ended without ${pattern}:\n${output()}`);
    },
    type: (text) => void child.stdin.write(text),
    end: () => void (isAtTerminal ? child.stdin.write(CTRL_D) : child.stdin.end()),
    interrupt: () => void (isAtTerminal ? child.stdin.write(CTRL_C) : child.kill('SIGINT')),
  };
  try {
    if (during === undefined) child.stdin.end();
    else await during(run);
    await closed;
  } finally {
    if (!seen.hasEnded) child.kill('SIGKILL');
  }
  return { code: child.exitCode, stdout: seen.stdout, stderr: seen.stderr };
}

function inTerminal(args: readonly string[], stderrTo?: string): [string, string[]] {
  const command = [process.execPath, BIN, ...args].map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`);
  const line = `stty cols ${COLUMNS} && exec ${command.join(' ')}${stderrTo === undefined ? '' : ` 2>'${stderrTo}'`}`;
  return ['script', ['--quiet', '--return', '--command', line, '/dev/null']];
}
