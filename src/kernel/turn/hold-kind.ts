// What a feature does with tool calls of turns: it puts something else in place of their tools
// (loop/plan-calls.ts), or holds them (loop/held-calls.ts).
import type { HoldCode } from '../../core/statuses.ts';
import type { ToolUseBlock } from '../../core/content.ts';
import type { Later, Tool, ToolCall, ToolOutcome } from '../../tools/tool.ts';
import type { KeepHeld } from './journal/commit-step.ts';
import type { ToolSettlement } from './journal/journal.ts';
import type { OpenedTurn } from './opened-turn.ts';
import type { TurnFailed } from './turn-stop.ts';

/**
 * A call of an answer, from its place 1, with the tool that it names; undefined: no tool of the
 * agent has its name.
 */
export interface PlannedCall {
  call: ToolUseBlock;
  ordinal: number;
  tool: Tool | undefined;
}

/**
 * A call that waits, as it is written with its answer, or when its tool has begun something whose
 * result comes later.
 */
export interface NewHold extends Later {
  kind: 'held';
}

/** A call that has an outcome without being run. */
export interface Known {
  kind: 'known';
  outcome: ToolOutcome;
  /** How it ended, for its row in the ledger; null: it has none. */
  status: ToolSettlement['status'] | null;
}

/** A held call of a turn that is resumed. */
export interface HeldCall extends PlannedCall {
  step: number;
  /** How much longer it may wait, in milliseconds; null: its row does not say. */
  leftMs: number | null;
}

/** What becomes of a held call: it runs now, it has an outcome, or it waits for this long. */
export type Resumption = { kind: 'run' } | Known | { kind: 'held'; forMs: number; ref?: string };

/** How a feature answers calls itself. */
export interface StandInKind {
  /**
   * Puts something else in place of the tools that these calls of one answer name, by the ids of
   * the calls; null: nothing. Asked again when the turn is resumed with calls that have no results,
   * and then says the same.
   */
  readonly standIns: (turn: OpenedTurn, calls: readonly ToolUseBlock[]) => Promise<ReadonlyMap<string, Tool> | null>;
}

/** Why a feature holds calls. */
export interface HoldKind {
  readonly code: HoldCode;
  /**
   * What is to be done with calls of a new answer, by their places; those that are not named run.
   */
  readonly hold: (turn: OpenedTurn, calls: readonly PlannedCall[]) => Promise<ReadonlyMap<number, NewHold | Known>>;
  /** What becomes of its calls that have no result, by their places. */
  readonly resume: (turn: OpenedTurn, calls: readonly HeldCall[]) => Promise<ReadonlyMap<number, Resumption>>;
  /**
   * Stores what it keeps of calls that begin to wait, in one transaction with their step: both are
   * stored, or neither. Absent: nothing.
   */
  readonly keep?: KeepHeld;
  /**
   * Why the turn waits for these calls, as `Reason` has it, and what its event says beside that.
   */
  readonly explain: (
    turn: OpenedTurn,
    calls: readonly { call: ToolUseBlock; ordinal: number; ref: string | null }[],
  ) => { text: string; by: string | null; facts?: Record<string, unknown> };
  /**
   * What was shown of a call that it has held, before the call ran; undefined: it has held none at
   * this place. Absent: nothing is shown.
   */
  readonly readShown?: (turn: OpenedTurn, place: ToolCall['place']) => Promise<unknown>;
  /**
   * The failure that ends a turn in which the time of such a call is over; absent: the turn
   * continues with its results.
   */
  readonly lateFailure?: () => TurnFailed;
}

export type Holds = ReadonlyMap<number, NewHold | Known>;

/**
 * What becomes of the held calls of a turn that is resumed, and the failure that ends it with their
 * results; null: none.
 */
export interface ResumedHolds {
  found: ReadonlyMap<number, Resumption & { code: HoldCode }>;
  failure: TurnFailed | null;
}
