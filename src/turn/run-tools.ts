// Runs the tool calls of one model answer. Each call that may do something has an intent in the ledger before it runs and an
// outcome after; the results of the batch are one entry, in source order (G11).
//
// After a death, the ledger says what became of each call: finished calls keep their result and never run again; an
// unfinished one runs again, with the same idempotency key, only if its tool is idempotent, else the model is told that its
// outcome is unknown.
import type { ToolResultBlock, ToolUseBlock } from '../core/content.ts';
import type { ModelAnswer } from '../core/model-request.ts';
import type { NewEvent } from '../store/events.ts';
import type { ToolIntent, ToolSettlement } from '../store/journal.ts';
import type { LedgerRow } from '../store/claim-session.ts';
import { runTool } from '../tools/run-tool.ts';
import { ToolTimeoutError, type Tool, type ToolOutcome } from '../tools/tool.ts';
import { unknownToolOutcome } from '../tools/toolset.ts';
import type { TurnContext } from './context.ts';
import { commit, newEntry, type Moment, type RunningTurn } from './running-turn.ts';
import { TurnStopped } from './turn-end.ts';

/** What is to be done with a call: run it, or answer with what is known already. */
type Plan = { call: ToolUseBlock; ordinal: number } & (
  | { kind: 'run'; tool: Tool }
  | { kind: 'known'; outcome: ToolOutcome; status: ToolSettlement['status'] | null }
);

interface Settled {
  plan: Plan;
  outcome: ToolOutcome;
  status: ToolSettlement['status'] | null;
}

/** The intents of an answer's calls: one for each call whose tool exists and whose input could be read. */
export function intentsOf(turn: RunningTurn, answer: ModelAnswer, calls: ToolUseBlock[], step: number): ToolIntent[] {
  return calls.flatMap((call, index) => {
    const tool = turn.toolset.findTool(call.name);
    if (tool === undefined || answer.malformedInputs?.[call.id] !== undefined) return [];
    return [{ step, ordinal: index + 1, callId: call.id, name: call.name, isIdempotent: tool.isIdempotent }];
  });
}

/** Plans the calls of an answer that was just committed with their intents. */
export function planFresh(turn: RunningTurn, answer: ModelAnswer, calls: ToolUseBlock[]): Plan[] {
  return calls.map((call, index) => {
    const ordinal = index + 1;
    const malformed = answer.malformedInputs?.[call.id];
    if (malformed !== undefined) {
      return known(
        call,
        ordinal,
        null,
        `The input of this call is not valid JSON and was not run: ${malformed.slice(0, 500)}`,
      );
    }
    const tool = turn.toolset.findTool(call.name);
    return tool === undefined ? unknownTool(turn, call, ordinal) : { call, ordinal, kind: 'run', tool };
  });
}

/** Plans the calls of an answer that an earlier worker left without results, from what the ledger says of them. */
export function planResumed(turn: RunningTurn, calls: ToolUseBlock[]): Plan[] {
  const rows = new Map<number, LedgerRow>(turn.ledger.map((row) => [row.ordinal, row]));
  return calls.map((call, index) => {
    const ordinal = index + 1;
    const row = rows.get(ordinal);
    const tool = turn.toolset.findTool(call.name);
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
    if (tool?.isIdempotent === true) return { call, ordinal, kind: 'run', tool };
    return known(
      call,
      ordinal,
      'unknown',
      'outcome unknown: the worker died while this call ran. It may have taken effect or not, and was not run again. ' +
        'Check before repeating it.',
    );
  });
}

/**
 * Runs the batch and commits its results, with the charge for the next model call. Results of calls that finish while others
 * still run are put into the ledger as they come. Throws `TurnStopped`; what was left undone is then settled by `settleStopped`.
 */
export async function runTools(context: TurnContext, turn: RunningTurn, plans: Plan[], step: number): Promise<void> {
  const settled: Settled[] = plans.flatMap((plan) =>
    plan.kind === 'known' ? [{ plan, outcome: plan.outcome, status: plan.status }] : [],
  );
  const running = new Map<Plan, Promise<Settled>>();
  for (const plan of plans) if (plan.kind === 'run') running.set(plan, runOne(context, turn, plan));
  let reported = settled.length;
  try {
    while (running.size > 0) {
      const first = await Promise.race(running.values());
      running.delete(first.plan);
      settled.push(first);
      // Others that finished in the same moment travel together.
      if (running.size > 0) await takeFinished(running, settled);
      if (running.size > 0) {
        await commit(context, turn, {
          toolSettlements: settled.slice(reported).map((one) => settlementOf(one, step, true)),
        });
        reported = settled.length;
      }
    }
  } catch (error) {
    await Promise.allSettled(running.values());
    throw error;
  }
  await commit(context, turn, resultsMoment(turn, plans, settled, step));
}

/** The results of a batch that was stopped: what had finished, and for the rest that it was stopped. */
export function stoppedMoment(turn: RunningTurn, calls: ToolUseBlock[], message: string): Moment {
  const results = calls.map((call): ToolResultBlock => ({
    type: 'tool_result',
    tool_use_id: call.id,
    content: `Stopped: ${message} The call may have taken effect or not.`,
    is_error: true,
  }));
  const step = turn.progress.steps;
  return {
    entries: [newEntry('results', 'user', results)],
    toolSettlements: calls.map((_, index) => ({ step, ordinal: index + 1, status: 'unknown', result: null })),
  };
}

async function takeFinished(running: Map<Plan, Promise<Settled>>, settled: Settled[]): Promise<void> {
  const pending = Symbol('pending');
  for (const [plan, promise] of running) {
    const outcome = await Promise.race([promise, Promise.resolve(pending)]);
    if (outcome === pending) continue;
    running.delete(plan);
    settled.push(outcome as Settled);
  }
}

async function runOne(context: TurnContext, turn: RunningTurn, plan: Extract<Plan, { kind: 'run' }>): Promise<Settled> {
  turn.held.assertHeld();
  const call = {
    sessionKey: turn.session.key,
    agentId: turn.agent.id,
    turnId: turn.id,
    callId: plan.call.id,
    idempotencyKey: `${turn.id}:${plan.call.id}`,
    workspaceDir: turn.agent.workspaceDir,
  };
  const timeoutMs = context.config.tools.exec.timeoutSeconds * 1000;
  const { signal, release } = signalForTool(turn, plan.tool);
  try {
    const outcome = await runTool(plan.tool, plan.call.input, { ...call, signal }, { timeoutMs });
    return { plan, outcome, status: outcome.isError ? 'failed' : 'done' };
  } catch (error) {
    turn.held.signal.throwIfAborted();
    throw error;
  } finally {
    release();
  }
}

/** The turn's signal for a tool: to it, the turn's deadline is a deadline, which leaves it less time to end than a stop does (G25). */
function signalForTool(turn: RunningTurn, tool: Tool): { signal: AbortSignal; release: () => void } {
  const { signal } = turn.held;
  const forTool = new AbortController();
  const pass = (): void => {
    const isDeadline = signal.reason instanceof TurnStopped && signal.reason.reason.kind === 'turn-timeout';
    const timeoutMs = turn.agent.timeoutSeconds * 1000;
    forTool.abort(isDeadline ? new ToolTimeoutError(tool.spec.name, timeoutMs) : signal.reason);
  };
  signal.addEventListener('abort', pass, { once: true });
  return { signal: forTool.signal, release: () => signal.removeEventListener('abort', pass) };
}

function resultsMoment(turn: RunningTurn, plans: Plan[], settled: Settled[], step: number): Moment {
  const outcomes = new Map(settled.map((one) => [one.plan, one]));
  const inOrder = plans.map((plan) => outcomes.get(plan) as Settled);
  return {
    entries: [newEntry('results', 'user', inOrder.map(resultBlock))],
    toolSettlements: inOrder.flatMap((one) => (one.status === null ? [] : [settlementOf(one, step, false)])),
    progress: { calls: turn.progress.calls + 1 },
    events: [...inOrder.map(endedEvent), { type: 'model.started', data: { call: turn.progress.calls + 1 } }],
  };
}

function resultBlock({ plan, outcome }: Settled): ToolResultBlock {
  const block: ToolResultBlock = { type: 'tool_result', tool_use_id: plan.call.id, content: outcome.content };
  return outcome.isError ? { ...block, is_error: true } : block;
}

function settlementOf({ plan, outcome, status }: Settled, step: number, withResult: boolean): ToolSettlement {
  return { step, ordinal: plan.ordinal, status: status ?? 'failed', result: withResult ? outcome : null };
}

function endedEvent({ plan, outcome, status }: Settled): NewEvent {
  return {
    type: 'tool.ended',
    data: { callId: plan.call.id, name: plan.call.name, status: status ?? 'failed', isError: outcome.isError },
  };
}

function known(call: ToolUseBlock, ordinal: number, status: ToolSettlement['status'] | null, message: string): Plan {
  return { call, ordinal, kind: 'known', status, outcome: { content: message, isError: true } };
}

function unknownTool(turn: RunningTurn, call: ToolUseBlock, ordinal: number): Plan {
  return { call, ordinal, kind: 'known', status: null, outcome: unknownToolOutcome(call.name, turn.toolset) };
}
