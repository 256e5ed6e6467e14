// Tool calls that wait for something outside before they run or have a result: for the client that
// runs them, for a person's approval, for another program. The feature that holds a call says so in
// the plan of its answer. The row of the call in the ledger then waits (`held_for`, 0 runs), in one
// commit with the answer; the other calls of the answer run, and the turn is parked. When something
// has happened, or the time of a call is over, the turn is resumed as after a crash, and the
// feature says what becomes of each of its calls: it runs, it has a result, or it waits.
//
// A call that runs may wait, too: its tool has begun something and answers that the result comes
// later (`later` of its outcome), as for a task of another program. Its row, whose intent is
// committed, then waits in the same way, and the same feature says what becomes of it. So a call
// may wait twice: for an approval before it runs, and for its result.
import { HOLD_CODES, type HoldCode } from '../../../core/statuses.ts';
import type { ToolUseBlock } from '../../../core/content.ts';
import type { ToolCall } from '../../../tools/tool.ts';
import type { NewEvent } from '../../events/events.ts';
import type { HeldIntent } from '../journal/journal.ts';
import { readAnswers } from '../journal/settle-calls.ts';
import type { TurnContext } from '../context.ts';
import { isHeld, type TurnFailed, type TurnStopped } from '../turn-stop.ts';
import { waitStop } from '../gate/gate.ts';
import type { HeldCall, HoldKind, NewHold, Holds, Known, PlannedCall, ResumedHolds, Resumption } from '../hold-kind.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { TurnWrite } from '../position.ts';
import type { Plan } from './plan-calls.ts';

/** Why features hold calls, in their order. */
export const listKinds = ({ features }: Pick<TurnContext, 'features'>): HoldKind[] =>
  features.flatMap(({ calls }) => (calls !== undefined && 'hold' in calls ? [calls] : []));

/** What features hold of the calls of a new answer. */
export async function findHolds(
  context: Pick<TurnContext, 'features'>,
  turn: OpenedTurn,
  calls: readonly PlannedCall[],
): Promise<Holds> {
  const found = new Map<number, NewHold | Known>();
  for (const kind of listKinds(context)) {
    // Where several hold a call, the first decides.
    const left = calls.filter(({ ordinal }) => !found.has(ordinal));
    for (const [ordinal, hold] of await kind.hold(turn, left)) found.set(ordinal, hold);
  }
  for (const { call, ordinal, tool } of calls)
    if (!found.has(ordinal) && tool?.needsApproval?.(call.input) === true) found.set(ordinal, CANNOT_ASK);
  return found;
}

const CANNOT_ASK: Known = {
  kind: 'known',
  outcome: { content: 'Not run: this call needs an approval, and nothing here can ask for one.', isError: true },
  status: 'skipped',
};

const isOver = (leftMs: number | null): boolean => (leftMs ?? 0) <= 0;

const NONE_HELD: ResumedHolds = { found: new Map(), failure: null };

/**
 * Asks the features what becomes of the calls of a resumed turn that wait, or have waited, for
 * something outside.
 */
export async function resumeHolds(
  context: Pick<TurnContext, 'features' | 'store'>,
  turn: OpenedTurn,
  calls: readonly ToolUseBlock[],
): Promise<ResumedHolds> {
  const held = turn.ledger.filter(isHeld);
  if (held.length === 0) return NONE_HELD;
  // A call that was released runs only while its turn may: a stop comes first.
  turn.held.assertHeld();
  const found = new Map<number, Resumption & { code: HoldCode }>();
  // An answer may have been stored in time although the claim, by its clock, has found the time
  // over and no answer yet.
  const late = held.find(({ heldLeftMs }) => isOver(heldLeftMs));
  const answers = late === undefined ? [] : await readAnswers(context.store.database, turn.id, late.step);
  for (const { ordinal, code, status, outcome } of answers)
    found.set(ordinal, { kind: 'known', outcome, status, code });
  let failure: TurnFailed | null = null;
  for (const kind of listKinds(context)) {
    const own = held.filter(({ heldFor, ordinal }) => heldFor === kind.code && !found.has(ordinal));
    if (own.length === 0) continue;
    const waiting = own.flatMap(({ ordinal, step, heldLeftMs }): HeldCall[] => {
      const call = calls[ordinal - 1];
      return call === undefined
        ? []
        : [{ call, ordinal, step, tool: turn.toolset.findTool(call.name), leftMs: heldLeftMs }];
    });
    for (const [ordinal, one] of await kind.resume(turn, waiting)) found.set(ordinal, { ...one, code: kind.code });
    const isLate = waiting.some(({ ordinal, leftMs }) => found.get(ordinal)?.kind === 'known' && isOver(leftMs));
    if (isLate) failure ??= kind.lateFailure?.() ?? null;
  }
  return { found, failure };
}

/** What was shown of a call to the person who let it run; undefined: none was asked. */
export async function readShown(
  context: Pick<TurnContext, 'features'>,
  turn: OpenedTurn,
  place: ToolCall['place'],
): Promise<unknown> {
  for (const kind of listKinds(context)) {
    const shown = await kind.readShown?.(turn, place);
    if (shown !== undefined) return shown;
  }
  return undefined;
}

/**
 * The stop of a turn whose held calls wait, to be thrown. A client that runs its tools is named
 * before a person who approves others.
 */
export function heldStop(context: TurnContext, turn: OpenedTurn, plans: readonly Plan[]): TurnStopped {
  const held = plans.filter((plan) => plan.kind === 'held');
  const code = HOLD_CODES.find((one) => held.some((plan) => plan.code === one));
  const calls = held.filter((plan) => plan.code === code);
  const kind = listKinds(context).find((one) => one.code === code);
  if (kind === undefined) throw new Error(`No feature holds calls for ${String(code)}.`);
  const { text, by, facts } = kind.explain(turn, calls);
  const untilMs = Math.min(...held.map((plan) => plan.untilMs));
  return waitStop({
    reason: { code: kind.code, text, by },
    ...(facts === undefined ? {} : { facts }),
    hasCalled: false,
    delayMs: Math.max(0, untilMs - context.clock.monotonicMs()),
    notBeforeMs: 0,
  });
}

/** The rows of the calls that begin to wait, with the events of their waits. */
export function heldWrite(plans: readonly Plan[], step: number): Pick<TurnWrite, 'heldIntents'> {
  const holds = plans.flatMap((plan) =>
    plan.kind === 'held' && plan.hold !== null ? [{ ...plan, hold: plan.hold }] : [],
  );
  if (holds.length === 0) return {};
  const heldIntents = holds.map(({ call, ordinal, isIdempotent, hold }): HeldIntent => {
    const { code, forMs, facts, isNoticed = false } = hold;
    // Tools do not know the types of events.
    const events = (hold.events ?? []) as readonly NewEvent[];
    return { step, ordinal, callId: call.id, name: call.name, isIdempotent, code, forMs, facts, events, isNoticed };
  });
  return { heldIntents };
}
