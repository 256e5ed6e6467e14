// What is to be done with each tool call of an answer: run it, or answer with what is known
// already. Decided from the answer when it is new, and from the ledger when an earlier worker left
// it (G11).
//
// Calls that wait for something outside are in held-calls.ts.
import type { HoldCode } from '../../../core/statuses.ts';
import { cutHead } from '../../../core/text.ts';
import type { ToolUseBlock } from '../../../core/content.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import type { LedgerRow } from '../../sessions/claim-session.ts';
import type { ToolIntent, ToolSettlement } from '../journal/journal.ts';
import { mayRepeat, onlyReads, type Tool, type ToolOutcome } from '../../../tools/tool.ts';
import { unknownToolOutcome } from '../../../tools/toolset.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { TurnContext } from '../context.ts';
import { isHeld } from '../turn-stop.ts';
import type { NewHold, Holds, Known, PlannedCall, ResumedHolds } from '../hold-kind.ts';

/**
 * The plan for a call: run it, answer it from the ledger, or wait until something outside has
 * happened.
 */
export type Plan = { call: ToolUseBlock; ordinal: number } & ({ kind: 'run'; tool: Tool } | Known | HeldPlan);

export type RunPlan = Extract<Plan, { kind: 'run' }>;

/**
 * A call that waits until this time on the monotonic clock; `hold` is what is stored with a new
 * one.
 */
interface HeldPlan {
  kind: 'held';
  code: HoldCode;
  untilMs: number;
  hold: NewHold | null;
  isIdempotent: boolean;
  ref: string | null;
}

/**
 * What runs in place of the tools that calls name, by the ids of the calls; a call without one runs
 * its tool.
 */
export type StandIns = ReadonlyMap<string, Tool>;

const NO_STAND_INS: StandIns = new Map();

/**
 * What features put in place of the tools of these calls: the first that has an answer for the turn
 * decides for all.
 */
export async function findStandIns(
  { features }: Pick<TurnContext, 'features'>,
  turn: OpenedTurn,
  calls: readonly ToolUseBlock[],
): Promise<StandIns> {
  for (const { calls: part } of features) {
    const found = part !== undefined && 'standIns' in part ? await part.standIns(turn, calls) : null;
    if (found !== null) return found;
  }
  return NO_STAND_INS;
}

/**
 * The calls of an answer that can be planned at all, with their tools: those whose input could be
 * read, and that nothing stands in for.
 */
export function listPlanned(
  turn: OpenedTurn,
  answer: Pick<ModelAnswer, 'malformedInputs'>,
  { calls, standIns }: { calls: readonly ToolUseBlock[]; standIns: StandIns },
): PlannedCall[] {
  return calls.flatMap((call, index) =>
    answer.malformedInputs?.[call.id] !== undefined || standIns.has(call.id)
      ? []
      : [{ call, ordinal: index + 1, tool: turn.toolset.findTool(call.name) }],
  );
}

/** Plans the calls of an answer that is about to be committed with their intents. */
export function planFresh(
  turn: OpenedTurn,
  answer: ModelAnswer,
  { calls, standIns, holds, nowMs }: { calls: ToolUseBlock[]; standIns: StandIns; holds: Holds; nowMs: number },
): Plan[] {
  return calls.map((call, index) => {
    const ordinal = index + 1;
    const malformed = answer.malformedInputs?.[call.id];
    if (malformed !== undefined) {
      return known(call, ordinal, null, notRun(answer, cutHead(malformed, 500)));
    }
    const tool = standIns.get(call.id) ?? turn.toolset.findTool(call.name);
    const hold = holds.get(ordinal);
    if (hold?.kind === 'known') return { call, ordinal, ...hold };
    if (hold !== undefined) return held({ call, ordinal, tool }, { ...hold, hold, nowMs });
    return tool === undefined ? unknownTool(turn, call, ordinal) : { call, ordinal, kind: 'run', tool };
  });
}

/** The plans of those calls that have begun and answer later. */
export function planLater(ended: readonly { plan: Plan; outcome: ToolOutcome }[], nowMs: number): Plan[] {
  return ended.flatMap(({ plan, outcome: { later } }) =>
    plan.kind === 'run' && later !== undefined
      ? [held(plan, { ...later, nowMs, hold: { kind: 'held', ...later } })]
      : [],
  );
}

function held(
  { call, ordinal, tool }: PlannedCall,
  { code, forMs, ref, nowMs, hold }: Pick<NewHold, 'code' | 'forMs' | 'ref'> & { nowMs: number; hold: NewHold | null },
): Plan {
  return {
    call,
    ordinal,
    kind: 'held',
    code,
    untilMs: nowMs + forMs,
    hold,
    ref: ref ?? null,
    isIdempotent: tool?.isIdempotent === true,
  };
}

const NOT_PLANNED = 'This call was not run: its input could not be read. Call it again with valid JSON.';

function notRun({ stopReason }: ModelAnswer, input: string): string {
  if (stopReason === 'max_tokens')
    return `This call was cut off at the token limit of the answer, and was not run. Call it again, with less text in its input or in parts: ${input}`;
  return input.includes(String.raw`\u0000`)
    ? String.raw`The input of this call has a NUL character (\u0000), so it was not run. Call it again without that character: ${input}`
    : `The input of this call is not valid JSON and was not run: ${input}`;
}

/**
 * Plans the calls of an answer that an earlier worker left without results, from their rows in the
 * ledger.
 */
export function planResumed(
  turn: OpenedTurn,
  calls: ToolUseBlock[],
  { standIns, holds, nowMs }: { standIns: StandIns; holds: ResumedHolds; nowMs: number },
): Plan[] {
  const rows = new Map<number, LedgerRow>(turn.ledger.map((row) => [row.ordinal, row]));
  return calls.map((call, index) => {
    const ordinal = index + 1;
    const row = rows.get(ordinal);
    const tool = standIns.get(call.id) ?? turn.toolset.findTool(call.name);
    // A call that was not to be run has a row only beside one that waits.
    if (row === undefined)
      return tool === undefined ? unknownTool(turn, call, ordinal) : known(call, ordinal, null, NOT_PLANNED);
    if (row.result !== null) {
      return {
        call,
        ordinal,
        kind: 'known',
        outcome: row.result as ToolOutcome,
        status: row.status as ToolSettlement['status'],
      };
    }
    const hold = holds.found.get(ordinal);
    if (hold?.kind === 'held') return held({ call, ordinal, tool }, { ...hold, nowMs, hold: null });
    if (hold?.kind === 'known') return { call, ordinal, kind: 'known', outcome: hold.outcome, status: hold.status };
    if (hold?.kind === 'run' && tool === undefined) return unknownTool(turn, call, ordinal);
    // Without the feature that holds it, nothing says that it may run.
    if (hold === undefined && isHeld(row))
      return known(
        call,
        ordinal,
        'skipped',
        `Not run: it waited for ${row.heldFor ?? ''}, and nothing here can end that wait.`,
      );
    if (tool !== undefined && (hold?.kind === 'run' || mayRepeat(tool, call.input)))
      return { call, ordinal, kind: 'run', tool };
    return known(
      call,
      ordinal,
      'unknown',
      'outcome unknown: the worker crashed while this call ran. It may or may not have taken effect, and was not run again. ' +
        'Check before repeating it.',
    );
  });
}

/** True when no call of the batch changes anything. */
export function isReadOnly(plans: readonly Plan[]): boolean {
  return plans.every((plan) => plan.kind === 'known' || (plan.kind === 'run' && onlyReads(plan.tool, plan.call.input)));
}

function known(call: ToolUseBlock, ordinal: number, status: ToolSettlement['status'] | null, message: string): Plan {
  return { call, ordinal, kind: 'known', status, outcome: { content: message, isError: true } };
}

function unknownTool(turn: OpenedTurn, call: ToolUseBlock, ordinal: number): Plan {
  return { call, ordinal, kind: 'known', status: null, outcome: unknownToolOutcome(call.name, turn.toolset) };
}

/**
 * The intents of the calls that are to run. Beside calls that wait, those that do not run have one,
 * too: a turn that is resumed after the wait finds their results there.
 */
export function toIntents(plans: readonly Plan[], step: number): ToolIntent[] {
  const isParking = plans.some(({ kind }) => kind === 'held');
  return plans.flatMap((plan) => {
    if (plan.kind === 'run') return [toIntent(plan, step, 'intent')];
    return plan.kind === 'known' && isParking ? [toIntent(plan, step, 'intent')] : [];
  });
}

/** The intent of one of them, or how it ended. */
export function toIntent(
  plan: Exclude<Plan, { kind: 'held' }>,
  step: number,
  status: ToolIntent['status'],
): ToolIntent {
  const { call, ordinal } = plan;
  const isIdempotent = plan.kind === 'run' && mayRepeat(plan.tool, call.input);
  return { step, ordinal, callId: call.id, name: call.name, isIdempotent, status };
}
