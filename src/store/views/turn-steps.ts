// What a turn did, step by step, from its journal: the model calls with their tokens and the tool calls with their ends. Payloads
// are not here but in the transcript.
import type { ModelCallView, StepView } from '../../contract/views.ts';
import { dollarsOf } from '../../core/prices/call-cost.ts';
import { asc, inArray } from '../drizzle.ts';
import { modelCalls, toolCalls } from '../schema.ts';
import { isoOf, isoOrNull, type ViewDatabase } from './page.ts';

/** The steps of each of these turns, in order; a turn without any is absent. */
export async function viewSteps(db: ViewDatabase, turnIds: string[]): Promise<Map<string, StepView[]>> {
  if (turnIds.length === 0) return new Map();
  const [calls, tools] = await Promise.all([
    db
      .select()
      .from(modelCalls)
      .where(inArray(modelCalls.turnId, turnIds))
      .orderBy(asc(modelCalls.turnId), asc(modelCalls.callNo)),
    db
      .select({
        turnId: toolCalls.turnId,
        step: toolCalls.step,
        callId: toolCalls.callId,
        name: toolCalls.name,
        status: toolCalls.status,
        isIdempotent: toolCalls.isIdempotent,
        runs: toolCalls.runs,
        intentAt: toolCalls.intentAt,
        endedAt: toolCalls.endedAt,
      })
      .from(toolCalls)
      .where(inArray(toolCalls.turnId, turnIds))
      .orderBy(asc(toolCalls.turnId), asc(toolCalls.step), asc(toolCalls.ordinal)),
  ]);
  const steps = new StepCollection();
  for (const call of calls) steps.of(call.turnId, call.step).calls.push(callViewOf(call));
  for (const tool of tools) {
    steps.of(tool.turnId, tool.step).tools.push({
      callId: tool.callId,
      name: tool.name,
      status: tool.status,
      isIdempotent: tool.isIdempotent,
      runs: tool.runs,
      startedAt: isoOf(tool.intentAt),
      endedAt: isoOrNull(tool.endedAt),
    });
  }
  return steps.sorted();
}

/** Gathers what belongs to a step, of several turns. */
export class StepCollection {
  readonly #turns = new Map<string, Map<number, StepView>>();

  of(turnId: string, n: number): StepView {
    let turn = this.#turns.get(turnId);
    if (turn === undefined) this.#turns.set(turnId, (turn = new Map()));
    let step = turn.get(n);
    if (step === undefined) turn.set(n, (step = { n, calls: [], tools: [] }));
    return step;
  }

  sorted(): Map<string, StepView[]> {
    return new Map(
      [...this.#turns].map(([turnId, steps]) => [turnId, [...steps.values()].sort((one, other) => one.n - other.n)]),
    );
  }
}

function callViewOf(call: typeof modelCalls.$inferSelect): ModelCallView {
  return {
    n: call.callNo,
    purpose: call.purpose,
    status: call.status,
    stopReason: call.stopReason,
    error: call.error,
    model: call.model,
    usage: {
      inputTokens: call.inputTokens,
      outputTokens: call.outputTokens,
      cacheReadTokens: call.cacheReadTokens,
      cacheWriteTokens: call.cacheWriteTokens,
    },
    cacheWrite1hTokens: call.cacheWrite1hTokens,
    costUsd: dollarsOf(call.costMicros),
    costMicros: call.costMicros,
    priceVersion: call.priceVersion,
    tier: call.tier,
    isEstimated: call.isEstimated,
    simulated: call.isSimulated,
    startedAt: isoOf(call.startedAt),
    firstChunkAt: isoOrNull(call.firstChunkAt),
    endedAt: isoOf(call.endedAt),
    notes: call.notes,
  };
}
