// What is to be done with each tool call of an answer: run it, or answer with what is known already. Decided from the answer when it is new,
// and from the ledger when an earlier worker left it (G11).
//
// Tool calls that the client runs (docs/decisions/0069): the agent's calls of the same answer run first and their results are stored; then the
// turn is parked until the client has sent the results of its own, or until they have had their time. A turn that is resumed finds in the
// ledger which of them have come.
import { cutHead } from '../../../core/text.ts';
import { findCaller, isCallersTool } from '../../../core/caller-request.ts';
import type { ToolUseBlock } from '../../../core/content.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import type { LedgerRow } from '../../sessions/claim-session.ts';
import type { ToolSettlement } from '../journal/journal.ts';
import { mayRepeat, onlyReads, type Tool, type ToolOutcome } from '../../../tools/tool.ts';
import { unknownToolOutcome } from '../../../tools/toolset.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { callerCallId } from '../../../core/client-ids.ts';
import type { TurnContext } from '../context.ts';
import { waitStop } from '../gate/park-turn.ts';
import { callerReason } from '../../rules/why.ts';
import { CALLER } from '../gate/wait-reasons.ts';
import type { TurnStopped } from '../turn-end.ts';

/** The plan for a call: run it, answer it from the ledger, or leave it to the client. */
export type Plan = { call: ToolUseBlock; ordinal: number } & (
  | { kind: 'run'; tool: Tool }
  | { kind: 'known'; outcome: ToolOutcome; status: ToolSettlement['status'] | null }
  | { kind: 'caller' }
);

/** What runs in place of the tools that calls name, by the ids of the calls; a call without one runs its tool. */
export type StandIns = ReadonlyMap<string, Tool>;

const NO_STAND_INS: StandIns = new Map();

/** What features put in place of the tools of these calls: the first that has an answer for the turn decides for all. */
export async function findStandIns(
  { features }: Pick<TurnContext, 'features'>,
  turn: OpenedTurn,
  calls: readonly ToolUseBlock[],
): Promise<StandIns> {
  for (const { standIns } of features) {
    const found = await standIns?.(turn, calls);
    if (found) return found;
  }
  return NO_STAND_INS;
}

/** Plans the calls of an answer that was just committed with their intents. */
export function planFresh(
  turn: OpenedTurn,
  answer: ModelAnswer,
  { calls, standIns }: { calls: ToolUseBlock[]; standIns: StandIns },
): Plan[] {
  const caller = findCaller(turn.journal.at.inputs);
  let callersCalls = 0;
  return calls.map((call, index) => {
    const ordinal = index + 1;
    const malformed = answer.malformedInputs?.[call.id];
    if (malformed !== undefined) {
      return known(call, ordinal, null, notRun(answer, cutHead(malformed, 500)));
    }
    const tool = standIns.get(call.id) ?? turn.toolset.findTool(call.name);
    if (tool !== undefined) return { call, ordinal, kind: 'run', tool };
    if (!isCallersTool(caller, call.name)) return unknownTool(turn, call, ordinal);
    callersCalls += 1;
    if (callersCalls > 1 && caller?.isParallel === false)
      return known(call, ordinal, null, 'Not run: the client runs one of its tools at a time. Call it again.');
    return { call, ordinal, kind: 'caller' };
  });
}

function notRun({ stopReason }: ModelAnswer, input: string): string {
  return stopReason === 'max_tokens'
    ? `This call was cut off at the token limit of the answer, and was not run. Call it again, with less text in its input or in parts: ${input}`
    : `The input of this call is not valid JSON and was not run: ${input}`;
}

/** Plans the calls of an answer that an earlier worker left without results, from their rows in the ledger. */
export function planResumed(turn: OpenedTurn, calls: ToolUseBlock[], standIns: StandIns): Plan[] {
  const rows = new Map<number, LedgerRow>(turn.ledger.map((row) => [row.ordinal, row]));
  return calls.map((call, index) => {
    const ordinal = index + 1;
    const row = rows.get(ordinal);
    const tool = standIns.get(call.id) ?? turn.toolset.findTool(call.name);
    if (row === undefined) return unknownTool(turn, call, ordinal);
    if (row.result !== null) {
      return {
        call,
        ordinal,
        kind: 'known',
        outcome: row.result as ToolOutcome,
        status: row.status as ToolSettlement['status'],
      };
    }
    if (tool === undefined && isCallersTool(findCaller(turn.journal.at.inputs), call.name))
      return { call, ordinal, kind: 'caller' };
    if (tool !== undefined && mayRepeat(tool, call.input)) return { call, ordinal, kind: 'run', tool };
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

/** The code of a turn whose client did not send its results in time. */
export const CALLER_TIMEOUT = 'caller_timeout';

/** How much longer the client may take for its results, in milliseconds; at most 0: it has not sent them in time. */
export function callerTimeLeftMs({ config }: TurnContext, { journal }: OpenedTurn): number {
  const { park } = journal.at;
  const waitedMs = park?.code === CALLER ? park.waitedMs : 0;
  return config.openai.callerSeconds * 1000 - waitedMs;
}

/** The stop of a turn that waits for these calls of the client, to be thrown. */
export function awaitsCaller(context: TurnContext, turn: OpenedTurn, plans: readonly Plan[]): TurnStopped {
  const step = turn.journal.at.progress.steps;
  const calls = plans.filter((plan) => plan.kind === 'caller');
  return waitStop({
    reason: callerReason(calls.map(({ call }) => call.name)),
    facts: {
      step,
      calls: calls.map(({ call, ordinal }) => ({
        id: callerCallId({ turnId: turn.id, step, ordinal }),
        callId: call.id,
        name: call.name,
      })),
    },
    hasCalled: false,
    delayMs: Math.max(0, callerTimeLeftMs(context, turn)),
    notBeforeMs: 0,
  });
}

/** The plans of a turn whose client has not sent its results in time: each open call gets a result that reports it. */
export function withoutCaller(plans: readonly Plan[]): Plan[] {
  return plans.map((plan) =>
    plan.kind === 'caller'
      ? {
          ...plan,
          kind: 'known',
          status: 'failed',
          outcome: { content: 'No result came from the client.', isError: true },
        }
      : plan,
  );
}
