// What a turn did, step by step, from its journal: the model calls with their tokens and the tool calls with their ends. Payloads
// are not here but in the transcript.
import { dollarsOf, type PriceTier } from '../../core/prices/call-cost.ts';
import { asc, inArray } from '../drizzle.ts';
import type { CallNotes } from '../journal.ts';
import { modelCalls, toolCalls } from '../schema.ts';
import { isoOf, isoOrNull, type ViewDatabase } from './page.ts';
import type { TokenUsage } from '../token-usage.ts';

export const CALL_PURPOSES = ['answer', 'compaction'] as const;

export interface ModelCallView {
  /** Its number in the turn, as in `GET /v1/turns/{id}/requests/{n}`. */
  n: number;
  /** Its purpose: an answer of the turn, or the summary of a compaction. */
  purpose: (typeof CALL_PURPOSES)[number];
  status: 'ok' | 'failed' | 'aborted';
  stopReason: string | null;
  error: unknown;
  /** The model that was asked, as `provider/model`; null: a call of an earlier version, asked as its turn says. */
  model: string | null;
  usage: TokenUsage;
  /** The part of the tokens written into the cache that is kept for an hour. */
  cacheWrite1hTokens: number;
  /** Null: not known. */
  costUsd: number | null;
  costMicros: number | null;
  /** The version of the price table that gave the cost; null: none did. */
  priceVersion: string | null;
  tier: PriceTier;
  /** True when it was interrupted: its tokens and cost are those reported until then. */
  isEstimated: boolean;
  simulated: boolean;
  startedAt: string;
  firstChunkAt: string | null;
  endedAt: string;
  /** Its measurements, and the repairs of its answer; null when it was never sent. */
  notes: CallNotes | null;
}

export interface ToolCallView {
  callId: string;
  name: string;
  status: 'intent' | 'done' | 'failed' | 'unknown' | 'skipped';
  isIdempotent: boolean;
  /** How often it was started; more than once only for idempotent tools after a crash. */
  runs: number;
  startedAt: string;
  endedAt: string | null;
}

/** One model answer plus its tool results; more than one call when the model had to be asked again. */
export interface StepView {
  n: number;
  calls: ModelCallView[];
  tools: ToolCallView[];
}

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
      // The table's check allows no other.
      status: tool.status as ToolCallView['status'],
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
    // The table's check allows no other.
    purpose: call.purpose as ModelCallView['purpose'],
    // The table's check allows no other.
    status: call.status as ModelCallView['status'],
    stopReason: call.stopReason,
    error: call.error ?? null,
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
    // The table's check allows no other.
    tier: call.tier as PriceTier,
    isEstimated: call.isEstimated,
    simulated: call.isSimulated,
    startedAt: isoOf(call.startedAt),
    firstChunkAt: isoOrNull(call.firstChunkAt),
    endedAt: isoOf(call.endedAt),
    // Written by the journal alone.
    notes: (call.notes as CallNotes | null) ?? null,
  };
}
