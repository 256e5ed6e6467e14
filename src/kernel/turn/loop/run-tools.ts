// Runs the tool calls of one model answer. Each call that may do something has an intent in the
// ledger before it runs and an outcome after; the results of the batch are one entry, in source
// order (G11).
//
// A read-only batch (`isReadOnly`) has no effect to guard. It starts immediately, and when it ends
// within milliseconds, answer, calls and results are one write; otherwise the answer is committed
// with intents as any other, while the batch continues.
//
// After a crash, the ledger says how each call ended: finished calls keep their result and never
// run again; an unfinished one runs again, with the same idempotency key, only if its tool is
// idempotent, else its result says that the outcome is unknown.
import { isUnbegun } from '../../../core/statuses.ts';
import type { ToolResultBlock, ToolUseBlock } from '../../../core/content.ts';
import { storedCharsMax } from '../../../core/content-size.ts';
import { refOfModel } from '../../../core/models.ts';
import { SPAN_KEYS } from '../../../core/telemetry.ts';
import type { NewEvent } from '../../events/events.ts';
import type { ModelCallRow, ToolSettlement } from '../journal/journal.ts';
import { runTool } from '../../../tools/run-tool.ts';
import { ToolTimeoutError, type Tool, type ToolOutcome, type TurnTokens } from '../../../tools/tool.ts';
import { storeStep } from '../store-step.ts';
import type { TurnContext } from '../context.ts';
import { modelStarted, reportTool } from '../turn-log.ts';
import { heldStop, heldWrite, readShown } from './held-calls.ts';
import { createPaidCalls, leavePaid, takePaid, type PayingCall } from './pay-call.ts';
import { planLater, toIntent, type Plan, type RunPlan } from './plan-calls.ts';
import { originOfTurn, type OpenedTurn } from '../opened-turn.ts';
import { answerTokens, newEntry, NO_ROWS, type TurnWrite } from '../position.ts';
import { TurnStopped } from '../turn-stop.ts';

/** A batch on its way: what is known, and what still runs. */
export interface ToolBatch {
  plans: Plan[];
  step: number;
  settled: SettledCall[];
  running: Map<Plan, Promise<SettledCall>>;
}

/**
 * How long the answer of a read-only batch waits for its results, in milliseconds. When they come
 * in time, answer and results are one commit: part (c) of `npm run bench`, whose turn has one such
 * call, counts 8.2 writes per turn alone with this wait and 9.2 without. Without it, the answer
 * would be committed with its intents first, as before any other batch. A batch that takes longer
 * loses nothing: its tools run during the wait.
 */
const MOMENT_MS = 5;

interface SettledCall extends PayingCall {
  plan: Plan;
  outcome: ToolOutcome;
  status: ToolSettlement['status'] | null;
}

/**
 * Starts the calls of a batch. Their intents are committed already, or they are read-only: then
 * `call` is that of their uncommitted answer.
 */
export function beginTools(
  context: TurnContext,
  turn: OpenedTurn,
  plans: Plan[],
  { step, call }: { step: number; call?: ModelCallRow },
): ToolBatch {
  const settled: SettledCall[] = plans.flatMap((plan) =>
    plan.kind === 'known' ? [{ plan, outcome: plan.outcome, status: plan.status }] : [],
  );
  const running = new Map<Plan, Promise<SettledCall>>();
  for (const plan of plans) {
    if (plan.kind !== 'run') continue;
    const run = runOne(context, turn, plan, { step, tokens: countTokens(turn, call) });
    // The end of the batch receives the error; until then there may be no listener.
    run.catch(() => undefined);
    running.set(plan, run);
  }
  return { plans, step, settled, running };
}

/**
 * The end of a batch: the write that stores its results, and whether a tool also requested the end
 * of the turn.
 */
export interface BatchResult {
  write: TurnWrite;
  endsTurn: boolean;
}

/**
 * The end of a read-only batch that took only milliseconds: calls and results in one write. Null:
 * it takes longer.
 */
export async function endReadOnlyBatch(turn: OpenedTurn, batch: ToolBatch): Promise<BatchResult | null> {
  const all = Promise.all(batch.running.values());
  // A batch that fails counts as not finished: `endTools` handles it.
  const isOver = all.then(
    (ended) => ended,
    () => null,
  );
  let timer: NodeJS.Timeout | undefined;
  const moment = new Promise<null>((resolve) => (timer = setTimeout(resolve, MOMENT_MS, null)));
  const found = await Promise.race([isOver, moment]);
  clearTimeout(timer);
  // A call that answers later has a row first.
  if (found === null || found.some(isLate)) return null;
  const settled = [...batch.settled, ...found];
  const toolIntents = settled.flatMap(({ plan, status }) =>
    plan.kind === 'run' ? [toIntent(plan, batch.step, status === 'failed' ? 'failed' : 'done')] : [],
  );
  const end = batchEnd(turn, batch.plans, settled, batch.step);
  return { ...end, write: { ...end.write, toolSettlements: [], toolIntents } };
}

/**
 * Waits for a batch and returns its end, which is not committed yet. Results, and waits of calls
 * that answer later, are stored in the ledger while others still run; all are when some wait.
 * Throws `TurnStopped`; when that is no such wait, `stoppedWrite` then settles the unfinished
 * calls.
 */
export async function endTools(context: TurnContext, turn: OpenedTurn, batch: ToolBatch): Promise<BatchResult> {
  const { plans, step, settled, running } = batch;
  const waiting = plans.filter(({ kind }) => kind === 'held');
  const known = [...settled];
  let reported = settled.length;
  /** Stores what has ended, or waits, since the last time. */
  const report = async (more: readonly SettledCall[] = []): Promise<void> => {
    const ended = [...more, ...settled.slice(reported)];
    if (ended.length === 0) return;
    reported = settled.length;
    const later = planLater(ended, context.clock.monotonicMs());
    waiting.push(...later);
    const toolSettlements = ended.filter((one) => !isLate(one)).map((one) => toSettlement(one, step, true));
    const rows = { toolSettlements, ...takePaid(turn, settled), ...heldWrite(later, step) };
    await storeStep(context, turn, { ...NO_ROWS, ...rows });
  };
  try {
    while (running.size > 0) {
      const first = await Promise.race(running.values());
      running.delete(first.plan);
      settled.push(first);
      // Others that finished at the same time are written together.
      if (running.size > 0) await takeFinished(running, settled);
      if (running.size > 0) await report();
    }
  } finally {
    await Promise.allSettled(running.values());
    leavePaid(turn, settled);
  }
  if (waiting.length === 0 && !settled.some(isLate)) return batchEnd(turn, plans, settled, step);
  const stored = turn.ledger.filter((row) => row.step === step && row.result !== null);
  await report(known.filter(({ plan }) => stored.every(({ ordinal }) => ordinal !== plan.ordinal)));
  // A stop ends the wait: without this, a turn that is stopped while it waits would be parked and
  // claimed again without end.
  turn.held.assertHeld();
  throw heldStop(context, turn, waiting);
}

const isLate = ({ outcome: { later } }: SettledCall): boolean => later !== undefined;

/**
 * The results of a batch that was stopped: what had finished, and for the rest that it was stopped.
 */
export function stoppedWrite(turn: OpenedTurn, calls: ToolUseBlock[], message: string): TurnWrite {
  const { finishedCalls, heldCalls, progress } = turn.journal.at;
  const finished = new Map(finishedCalls.map((one) => [one.ordinal, one]));
  const why = /[.!?]$/.test(message) ? message : `${message}.`;
  const stopped = { content: `Stopped: ${why} The call may or may not have taken effect.`, isError: true };
  const unbegun = { content: `Stopped: ${why} The call was not run.`, isError: true };
  const ends = calls.map((call, index) => {
    const ordinal = index + 1;
    const code = heldCalls.get(ordinal);
    if (code !== undefined && isUnbegun(code) && !finished.has(ordinal))
      return { call, ordinal, status: 'skipped' as const, outcome: unbegun };
    const { status, result } = finished.get(ordinal) ?? { status: 'unknown', result: null };
    // The ledger stores outcomes of tools.
    return { call, ordinal, status, outcome: (result as ToolOutcome | null) ?? stopped };
  });
  return {
    ...NO_ROWS,
    entries: [newEntry('results', 'user', ends.map(resultBlock))],
    toolSettlements: ends.map(({ ordinal, status }) => ({ step: progress.steps, ordinal, status, result: null })),
  };
}

/** The results of a batch that gives way to a message: none of its calls has run. */
export function skippedWrite(turn: OpenedTurn, plans: readonly Plan[], step: number): TurnWrite {
  const settled = plans.map((plan): SettledCall => {
    if (plan.kind === 'known') return { plan, outcome: plan.outcome, status: plan.status };
    return { plan, outcome: { content: SKIPPED, isError: true }, status: 'skipped' };
  });
  return batchEnd(turn, [...plans], settled, step).write;
}

const SKIPPED = 'Skipped due to queued user message.';

async function takeFinished(running: Map<Plan, Promise<SettledCall>>, settled: SettledCall[]): Promise<void> {
  const pending = Symbol('pending');
  for (const [plan, promise] of running) {
    const outcome = await Promise.race([promise, Promise.resolve(pending)]);
    if (outcome === pending) continue;
    running.delete(plan);
    settled.push(outcome as SettledCall);
  }
}

function countTokens({ journal }: OpenedTurn, call: ModelCallRow | undefined): TurnTokens {
  const { progress, tokens } = journal.at;
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = call ?? {};
  return {
    inputTokens: progress.inputTokens + inputTokens,
    outputTokens: progress.outputTokens + outputTokens,
    cacheReadTokens: progress.cacheReadTokens + cacheReadTokens,
    cacheWriteTokens: progress.cacheWriteTokens + cacheWriteTokens,
    contextTokens: (call === undefined ? null : answerTokens([call])) ?? tokens.last,
  };
}

async function runOne(
  context: TurnContext,
  turn: OpenedTurn,
  plan: RunPlan,
  { step, tokens }: { step: number; tokens: TurnTokens },
): Promise<SettledCall> {
  turn.held.assertHeld();
  const call = {
    sessionKey: turn.session.key,
    agentId: turn.agent.id,
    model: refOfModel(turn.journal.attempt.request),
    thinking: turn.thinking,
    turnId: turn.id,
    tokens,
    callId: plan.call.id,
    place: { step, ordinal: plan.ordinal },
    readShown: () => readShown(context, turn, { step, ordinal: plan.ordinal }),
    idempotencyKey: `${turn.id}:${plan.call.id}`,
    workspaceDir: turn.agent.workspaceDir,
    traceparent: context.tracing?.headerOf(originOfTurn(turn), SPAN_KEYS.tool(turn.id, step, plan.call.id)),
    lease: { epoch: turn.held.epoch, assertHeld: () => turn.held.assertHeld() },
  };
  const limits = {
    timeoutMs: context.config.tools.exec.timeoutSeconds * 1000,
    resultCharsMax: storedCharsMax(turn.agent.contextTokens),
  };
  const { signal, release } = signalForTool(turn, plan.tool);
  const paid = createPaidCalls(context, turn, step);
  const startedAt = performance.now();
  let status: 'done' | 'failed' | 'unknown' | 'stopped' = 'stopped';
  try {
    const outcome = await runTool(plan.tool, plan.call.input, { ...call, signal, models: paid.models }, limits);
    status = statusOf(outcome);
    return { plan, outcome, status, rows: paid.rows };
  } catch (error) {
    turn.held.signal.throwIfAborted();
    throw error;
  } finally {
    release();
    const durationMs = performance.now() - startedAt;
    reportTool(context, turn, { name: plan.tool.spec.name, callId: plan.call.id, status, durationMs });
  }
}

function statusOf({ isError, isUnknown = false }: ToolOutcome): 'done' | 'failed' | 'unknown' {
  if (!isError) return 'done';
  return isUnknown ? 'unknown' : 'failed';
}

/**
 * The turn's signal for a tool: to it, the turn's deadline is a deadline, which leaves it less time
 * to end than a stop does (G25).
 */
function signalForTool(turn: OpenedTurn, tool: Tool): { signal: AbortSignal; release: () => void } {
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

/**
 * The results of a batch in source order, with the charge for the next model call if there is to be
 * one.
 */
function batchEnd(turn: OpenedTurn, plans: Plan[], settled: SettledCall[], step: number): BatchResult {
  const outcomes = new Map(settled.map((one) => [one.plan, one]));
  const inOrder = plans.map((plan) => outcomes.get(plan) as SettledCall);
  const endsTurn = inOrder.some(({ outcome }) => outcome.endsTurn === true && !outcome.isError);
  const paid = takePaid(turn, settled);
  const calls = paid.totals.calls + 1;
  const write: TurnWrite = {
    ...NO_ROWS,
    ...paid,
    entries: [
      newEntry(
        'results',
        'user',
        inOrder.map(({ plan, outcome }) => resultBlock({ ...plan, outcome })),
      ),
    ],
    toolSettlements: inOrder.flatMap((one) => (one.status === null ? [] : [toSettlement(one, step, false)])),
    totals: endsTurn ? paid.totals : { calls },
    events: [...paid.events, ...inOrder.map(endedEvent), ...(endsTurn ? [] : [modelStarted(turn.id, calls)])],
  };
  return { write, endsTurn };
}

function resultBlock({ call, outcome }: { call: ToolUseBlock; outcome: ToolOutcome }): ToolResultBlock {
  const block: ToolResultBlock = { type: 'tool_result', tool_use_id: call.id, content: outcome.content };
  return outcome.isError ? { ...block, is_error: true } : block;
}

function toSettlement({ plan, outcome, status }: SettledCall, step: number, withResult: boolean): ToolSettlement {
  return { step, ordinal: plan.ordinal, status: status ?? 'failed', result: withResult ? outcome : null };
}

function endedEvent({ plan, outcome, status }: SettledCall): NewEvent {
  return {
    type: 'tool.ended',
    data: { callId: plan.call.id, name: plan.call.name, status: status ?? 'failed', isError: outcome.isError },
  };
}
