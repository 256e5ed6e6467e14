// The tool port: what a tool declares and what it is given when it runs. `run-tool.ts` is the only
// caller of `run`: deadline, abort and the bound of the result are kept there, once for all tools.
import type { ImageBlock, TextBlock } from '../core/content.ts';
import { HOLD_CODES, type HoldCode } from '../core/statuses.ts';
import type { ToolSpec } from '../core/model-request.ts';
import type { ToolModels } from './paid-call.ts';

/** The claim of the session under which a call runs. */
export interface CallLease {
  /** The fencing number of the claim. */
  epoch: number;
  /**
   * Throws when the lease has run out or the call was stopped. A tool calls it right before each
   * thing that it starts and that cannot be taken back: a worker that was paused may have lost the
   * session since the call began (G7).
   */
  assertHeld(): void;
}

/** What a turn has used so far, with the answer that made the call. */
export interface TurnTokens {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** The tokens of the last request and its answer together; 0: not known. */
  contextTokens: number;
}

/** The arguments of a tool in addition to its input. */
export interface ToolCall {
  sessionKey: string;
  agentId: string;
  /** The model that the turn asks, as `provider/model`, and how much it thinks. */
  model: string;
  thinking: string;
  turnId: string;
  tokens: TurnTokens;
  /** The model's id of this call (`toolu_...`). */
  callId: string;
  /** The model answer of the turn that it is in, and its place there, both from 1. */
  place: { step: number; ordinal: number };
  /**
   * The same for every run of the same call; a tool passes it on to the systems that it changes.
   */
  idempotencyKey: string;
  /** The agent's workspace, absolute and existing. */
  workspaceDir: string;
  /** The `traceparent` header of the requests that it makes; absent: nothing is traced. */
  traceparent?: string | undefined;
  lease: CallLease;
  /**
   * Resolves with what a person was shown of this call who has approved it; undefined: none was
   * asked. Absent: nothing asks for approvals.
   */
  readShown?: (() => Promise<unknown>) | undefined;
  /** The models that it may call beside that of the turn. */
  models: ToolModels;
  /**
   * Aborts the call: turn, tool or shutdown deadline, stop, lost lock. The reason says which; it is
   * a `ToolTimeoutError` for the tool's own deadline.
   */
  signal: AbortSignal;
}

export interface ToolOutcome {
  content: string | (TextBlock | ImageBlock)[];
  isError: boolean;
  /**
   * True: it is not known whether the call took effect, and it was not run again. The ledger says
   * so, too. Only with `isError`.
   */
  isUnknown?: boolean;
  /**
   * True ends the turn after the batch, without a reply and without another model call: the session
   * waits for an input that wakes it. The other calls of the batch are finished first. Means
   * nothing in an error result.
   */
  endsTurn?: boolean;
  /**
   * The call has begun, and its result comes later: the turn is parked until then. `content` and
   * `isError` then mean nothing.
   */
  later?: Later;
}

/**
 * A call whose result comes later. The feature that holds calls under the code says what becomes of
 * it (`holds` of its part in turns).
 */
export interface Later {
  code: HoldCode;
  /** How long it waits until the feature is asked again, in milliseconds. */
  forMs: number;
  /** What the feature stores with it, in the statement that stores the wait. */
  facts?: unknown;
  /** The id of what it waits for, for people. */
  ref?: string;
  /**
   * True: a signed webhook, or a message to a chat, is to be sent about it. A round of the feature
   * does that, with `sendHeldNotices`.
   */
  isNoticed?: boolean;
  /** Events of this wait, stored with it. */
  events?: readonly { type: string; data: Record<string, unknown> }[];
}

/** The outcome of a call whose result comes later. */
export function laterOutcome(later: Later): ToolOutcome {
  return { content: '', isError: false, later };
}

/** True for a wait as a tool may ask for it: tools come from plugins, too. */
export function isLater(value: unknown): value is Later {
  const { code, forMs } = (value ?? {}) as Partial<Later>;
  return HOLD_CODES.some((one) => one === code) && typeof forMs === 'number' && Number.isFinite(forMs);
}

export interface Tool {
  spec: ToolSpec;
  /**
   * The spec for a session on this channel; absent: the same on every channel. Depends on the
   * configuration and the channel alone.
   */
  specOn?(channel: string): ToolSpec;
  /** One line for the Tooling section of the system prompt. */
  summary: string;
  /**
   * True when running it twice with the same input and idempotency key does no harm: only then is
   * it run again after a crash.
   */
  isIdempotent: boolean;
  /**
   * For a tool that does other things with other inputs: true when this input may run twice.
   * Absent: as `isIdempotent` says.
   */
  mayRepeat?: (input: unknown) => boolean;
  /** True: its results were bounded when they were made first, and stay as they are. */
  hasBoundedResults?: true;
  /**
   * True when a call with this input always waits for an approval, whatever the rules say. Absent:
   * the rules decide.
   */
  needsApproval?: (input: unknown) => boolean;
  /**
   * For a tool that uses what its input only names: the input with what is there now, which a
   * person is shown who decides about the call, and which the run compares (`readShown` of its
   * call). Absent or undefined: the input says it all.
   */
  show?: (input: unknown, at: Pick<ToolCall, 'workspaceDir' | 'signal'>) => Promise<unknown>;
  /**
   * For a tool that runs another one: the name of that one with this input. Absent or undefined: it
   * runs itself.
   */
  runs?: (input: unknown) => string | undefined;
  /**
   * True when a run only reads what is here, changes nothing, and sends nothing elsewhere: there is
   * no effect for the ledger to guard, so a run that takes only milliseconds is committed together
   * with the answer that called it, and items of batches may use it. Implies `isIdempotent`.
   * Absent: false.
   */
  isReadOnly?: boolean;
  /**
   * For a tool that changes something with some inputs only: true when this input only reads.
   * Absent: as `isReadOnly` says.
   */
  onlyReads?: (input: unknown) => boolean;
  /** The longest it may run, in milliseconds; absent: the configured default. */
  timeoutMs?: number;
  /**
   * Runs the call. Expected failures are outcomes with `isError`; a throw becomes an error result
   * with its message. Bad input (checked here against the tool's zod schema) is an error result
   * that names the field, never a throw. After an abort it stops what it started, starts nothing
   * more, and rejects with the signal's reason or, when its deadline ended it, answers with what it
   * has so far.
   */
  run(input: unknown, call: ToolCall): Promise<ToolOutcome>;
}

/** True when a second run of the tool with this input and the same idempotency key does no harm. */
export function mayRepeat(tool: Tool, input: unknown): boolean {
  return tool.mayRepeat?.(input) ?? tool.isIdempotent;
}

/** True when a run of the tool with this input changes nothing. */
export function onlyReads(tool: Tool, input: unknown): boolean {
  return tool.onlyReads?.(input) ?? tool.isReadOnly === true;
}

/** The reason with which a call is aborted at its own time limit. */
export class ToolTimeoutError extends Error {
  readonly code = 'tool_timeout';
  readonly toolName: string;
  readonly timeoutMs: number;

  constructor(toolName: string, timeoutMs: number) {
    super(`${toolName} timed out after ${timeoutMs / 1000} s`);
    this.name = 'ToolTimeoutError';
    this.toolName = toolName;
    this.timeoutMs = timeoutMs;
  }
}

/** The outcome of a call that has done its work. */
export function textOutcome(content: string): ToolOutcome {
  return { content, isError: false };
}

/** An outcome with a value as JSON. */
export function jsonOutcome(value: object): ToolOutcome {
  return textOutcome(JSON.stringify(value));
}

/** An outcome that tells the model what failed and, if possible, what to do instead. */
export function errorOutcome(text: string): ToolOutcome {
  return { content: text, isError: true };
}
