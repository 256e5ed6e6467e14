// The `exec` tool: a shell command in the agent's workspace. Its start directory is confined, its environment has no secrets, and
// its whole process group ends with the call; what the command itself reaches is the business of the sandbox.
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import { execEnvironment } from './exec-environment.ts';
import { type CommandEnd, runCommand } from './run-command.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, ToolTimeoutError } from './tool.ts';
import { resolveInWorkspace } from './workspace-files.ts';

const OUTPUT_BYTES_MAX = 200_000;
/** The kernel takes at most 128 KiB in one argument. */
const COMMAND_BYTES_MAX = 131_000;
/** Between TERM and KILL after a stop, an interruption or a shutdown. */
const KILL_GRACE_MS = 2_000;
/** The same when the command's time is over: it must be gone within a second (G25). */
const TIMEOUT_KILL_GRACE_MS = 500;

export interface ExecOptions {
  /** The longest a command may run, and how long it may when it does not say. */
  timeoutSeconds: number;
  /** The environment of this process; commands see it without its secrets. */
  environment: Readonly<Record<string, string | undefined>>;
}

export function createExecTool({ timeoutSeconds, environment }: ExecOptions): Tool {
  return defineTool({
    name: 'exec',
    description: `Run a shell command (bash) in the workspace. stdin is empty; stdout and stderr come back in one text with the exit code, start and end of it when it is longer than 200 kB. A command runs at most ${timeoutSeconds} s. Processes that it leaves in the background are ended with it.`,
    summary: 'Run shell commands',
    input: z.strictObject({
      command: z
        .string()
        .min(1)
        .refine((command) => !command.includes('\0'), 'must not contain a NUL character')
        .refine((command) => Buffer.byteLength(command) <= COMMAND_BYTES_MAX, {
          error: `must not be longer than ${COMMAND_BYTES_MAX} bytes; write it to a file and run that`,
        }),
      timeoutSeconds: z.number().positive().optional().describe('End the command after this time'),
      workdir: z.string().min(1).optional().describe('Directory to run in, relative to the workspace'),
    }),
    // What a command does is unknown, so it is never run again on its own account.
    isIdempotent: false,
    timeoutMs: timeoutSeconds * 1000,
    async run(input, call) {
      const timeoutMs = Math.min(input.timeoutSeconds ?? timeoutSeconds, timeoutSeconds) * 1000;
      const workdir = await workdirOf(input.workdir, call);
      if (typeof workdir !== 'string') return workdir;
      const env = execEnvironment(environment, call.idempotencyKey);
      return runUntil({ command: input.command, workdir, environment: env, timeoutMs, call });
    },
  });
}

/** The real directory to run in, or the error result that says why there is none. */
async function workdirOf(workdir: string | undefined, call: ToolCall): Promise<string | ToolOutcome> {
  if (workdir === undefined) return call.workspaceDir;
  try {
    const path = await resolveInWorkspace(call.workspaceDir, workdir);
    if ((await stat(path)).isDirectory()) return path;
    return errorOutcome(`exec: workdir: ${workdir} is not a directory`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return errorOutcome(`exec: workdir: ${code === 'ENOENT' ? `${workdir}: no such directory` : message}`);
  }
}

interface TimedCommand {
  command: string;
  workdir: string;
  environment: Record<string, string>;
  timeoutMs: number;
  call: ToolCall;
}

async function runUntil({ timeoutMs, call, ...command }: TimedCommand): Promise<ToolOutcome> {
  const deadline = new AbortController();
  const timeout = new ToolTimeoutError('exec', timeoutMs);
  const timer = setTimeout(() => deadline.abort(timeout), timeoutMs);
  const signal = AbortSignal.any([call.signal, deadline.signal]);
  try {
    const end = await runCommand({
      ...command,
      signal,
      outputBytesMax: OUTPUT_BYTES_MAX,
      killGraceMs: (reason) => (reason instanceof ToolTimeoutError ? TIMEOUT_KILL_GRACE_MS : KILL_GRACE_MS),
    });
    if (!end.wasAborted) return describeEnd(end, undefined);
    if (signal.reason instanceof ToolTimeoutError) return describeEnd(end, signal.reason);
    throw signal.reason;
  } finally {
    clearTimeout(timer);
  }
}

/** The output, then in brackets how the command ended. */
function describeEnd(end: CommandEnd, timeout: ToolTimeoutError | undefined): ToolOutcome {
  const lines = end.output === '' ? [] : [end.output.replace(/\n$/, '')];
  if (end.hadLeftovers) lines.push('[processes left in the background were ended]');
  if (timeout !== undefined) lines.push(`[${timeout.message} and was stopped]`);
  else if (end.exitSignal !== null) lines.push(`[ended by ${end.exitSignal}]`);
  else lines.push(`[exit code ${end.exitCode}]`);
  return { content: lines.join('\n'), isError: timeout !== undefined || end.exitCode !== 0 };
}
