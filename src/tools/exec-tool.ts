// The `exec` tool: a shell command in the agent's workspace. Its start directory is confined, its
// environment has no secrets, and its whole process group ends with the call; what the command
// itself reaches is the business of the sandbox.
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import type { Account } from '../config/places.ts';
import { count } from '../config/schema-scalars.ts';
import { withFileSlot } from '../files/file-slots.ts';
import { confinedTo, resolveInside } from '../files/confines.ts';
import { homeOf, type CommandPlan } from './command-user.ts';
import { defineTool } from './define-tool.ts';
import { execEnvironment } from './start-shell.ts';
import { outputText } from './bounded-output.ts';
import type { ProcessKeeper } from './process-keeper.ts';
import { readProcessLog } from './process-log.ts';
import { type CommandEnd, runCommand } from './run-command.ts';
import type { WrapCommand } from './sandbox/port.ts';
import type { Sandbox } from './sandbox/sandbox.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, ToolTimeoutError, textOutcome } from './tool.ts';
import { describeFault } from './workspace-files.ts';

/**
 * With the lines around it, less than the limit of a result: it is cut once, here, where missing
 * bytes are counted.
 */
const OUTPUT_BYTES_MAX = 36_000;
/** The kernel takes at most 128 KiB in one argument. */
const COMMAND_BYTES_MAX = 131_000;
/** Between TERM and KILL after a stop, an interruption or a shutdown. */
const KILL_GRACE_MS = 2_000;
/** The grace at the command's time limit: it must have ended within a second (G25). */
const TIMEOUT_KILL_GRACE_MS = 500;

export interface ExecOptions {
  /** The longest a command may run, and how long it may when it does not say. */
  timeoutSeconds: number;
  /** The environment of this process; commands see it without its secrets. */
  environment: Readonly<Record<string, string | undefined>>;
  /**
   * How the commands in a workspace run; absent: as the user of this process, in the workspace as
   * it is named.
   */
  planOf?: (workspaceDir: string) => CommandPlan;
  /** Where they run; absent: outside a sandbox. */
  sandbox?: Pick<Sandbox, 'enter'> | undefined;
  /** Where commands are left to run in the background; absent: nowhere. */
  background?: BackgroundOptions | undefined;
}

interface BackgroundOptions {
  keeper: Pick<ProcessKeeper, 'run'>;
  /** Where outputs are. */
  dataDir: string;
  /**
   * The longest that a command in the background may run, and how long it may when it does not say.
   */
  timeoutSeconds: number;
}

/** The part of a call's time that is left for ending a command that was waited for. */
const YIELD_MARGIN_MS = 1_000;

const inputShape = {
  command: z
    .string()
    .min(1)
    .refine((command) => !command.includes('\0'), 'must not contain a NUL character')
    .refine((command) => Buffer.byteLength(command) <= COMMAND_BYTES_MAX, {
      error: `must not be longer than ${COMMAND_BYTES_MAX} bytes; write it to a file and run that`,
    }),
  timeoutSeconds: z.number().positive().optional().describe('End the command after this time'),
  workdir: z.string().min(1).optional().describe('Directory to run in, relative to the workspace'),
};

const backgroundShape = {
  background: z.boolean().optional().describe('Run the command in the background from the start'),
  yieldMs: count(0, 3_600_000)
    .optional()
    .describe('Wait this many milliseconds for its end, then leave it in the background'),
};

type BackgroundInput = { [Field in keyof typeof backgroundShape]?: z.output<(typeof backgroundShape)[Field]> };

export function createExecTool({
  timeoutSeconds,
  environment,
  planOf = planAsNamed,
  sandbox,
  background,
}: ExecOptions): Tool {
  return defineTool({
    name: 'exec',
    description: `Run a shell command (bash) in the workspace. stdin is empty; stdout and stderr are returned as one text with the exit code, only its start and end when it is longer than 36 kB. A command runs at most ${timeoutSeconds} s. Processes that it leaves in the background are ended with it${describeBackground(background)}.`,
    summary: 'Run shell commands',
    input:
      background === undefined ? z.strictObject(inputShape) : z.strictObject({ ...inputShape, ...backgroundShape }),
    // The effects of a command are unknown, so it is never run again automatically.
    isIdempotent: false,
    isReadOnly: false,
    timeoutMs: timeoutSeconds * 1000,
    async run(input, call) {
      const timeoutMs = Math.min(input.timeoutSeconds ?? timeoutSeconds, timeoutSeconds) * 1000;
      const plan = planOf(call.workspaceDir);
      const { user, realDir } = plan;
      const workdir = await resolveWorkdir(input.workdir, realDir);
      if (typeof workdir !== 'string') return workdir;
      const wrap = (await sandbox?.enter(plan)) ?? null;
      const env = execEnvironment(environment, call.idempotencyKey);
      const own = user === null ? {} : homeOf(user, realDir);
      const command = { command: input.command, workdir, environment: { ...env, ...own }, user, wrap, call };
      const { background: isBackground = false, yieldMs = 0 }: BackgroundInput & object = { ...input };
      if (background === undefined || !(isBackground || yieldMs > 0)) return runUntil({ ...command, timeoutMs });
      const waitMs = isBackground ? 0 : Math.max(0, Math.min(yieldMs, timeoutSeconds * 1000 - YIELD_MARGIN_MS));
      const secondsMax = background.timeoutSeconds;
      const runMs = Math.min(input.timeoutSeconds ?? secondsMax, secondsMax) * 1000;
      return leave({ ...command, timeoutMs: runMs }, waitMs, background);
    },
  });
}

function planAsNamed(workspaceDir: string): CommandPlan {
  return { workspaceDir, realDir: workspaceDir, user: null, closedBy: null };
}

function describeBackground(background: BackgroundOptions | undefined): string {
  if (background === undefined) return '';
  return `; to leave the command itself there, at most ${background.timeoutSeconds} s, use background or yieldMs, and then process`;
}

/**
 * The real directory to run in, or the error result that gives the reason why it cannot be used.
 */
async function resolveWorkdir(workdir = '.', realDir: string): Promise<string | ToolOutcome> {
  try {
    const { path } = await resolveInside(workdir, confinedTo(realDir));
    if ((await withFileSlot(path, () => stat(path))).isDirectory()) return path;
    return errorOutcome(`exec: workdir: ${workdir} is not a directory`);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return errorOutcome(
      `exec: workdir: ${isMissing ? `${workdir}: no such directory` : await describeFault(error, workdir)}`,
    );
  }
}

interface TimedCommand {
  command: string;
  workdir: string;
  environment: Record<string, string>;
  user: Account | null;
  wrap: WrapCommand | null;
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
      assertHeld: () => call.lease.assertHeld(),
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
  if (end.hadEscaped) lines.push('[processes that had left the command, as setsid does, were ended]');
  if (timeout !== undefined) lines.push(`[${timeout.message} and was stopped]`);
  else if (end.exitSignal !== null) lines.push(`[ended by ${end.exitSignal}]`);
  else lines.push(`[exit code ${end.exitCode}]`);
  return { content: lines.join('\n'), isError: timeout !== undefined || end.exitCode !== 0 };
}

/** Starts a command that may outlive its call, and waits a while for its end. */
async function leave(
  command: TimedCommand,
  yieldMs: number,
  { keeper, dataDir }: BackgroundOptions,
): Promise<ToolOutcome> {
  const start = await keeper.run({ ...command, yieldMs });
  if (start.kind === 'refused') return errorOutcome(`exec: background: ${start.reason}`);
  const { id } = start;
  const logged = await readProcessLog({ dataDir, id }, { from: -OUTPUT_BYTES_MAX, bytesMax: OUTPUT_BYTES_MAX });
  const isOver = start.kind === 'over';
  const text = logged === null ? '' : outputText(logged.bytes, { isStart: logged.from === 0, isEnd: isOver });
  const lines = text === '' ? [] : [text.replace(/\n$/, '')];
  if (logged !== null && logged.from > 0) lines.unshift(`[the first ${logged.from} bytes are in the log of ${id}]`);
  if (!isOver) {
    lines.push(`[running in the background as ${id}: use process with this sessionId to poll, log, write or kill]`);
    return textOutcome(lines.join('\n'));
  }
  const { exitCode, exitSignal, reason } = start.end;
  if (reason !== null) lines.push(`[killed: ${reason}]`);
  else lines.push(exitSignal === null ? `[exit code ${exitCode}]` : `[ended by ${exitSignal}]`);
  return { content: lines.join('\n'), isError: exitCode !== 0 || reason !== null };
}
