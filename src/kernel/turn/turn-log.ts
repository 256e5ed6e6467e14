// What is said about turns: the events that the journal stores with a write, and the log lines.
// There is one line per ended turn and one per failed model call, and at the level debug one per
// opened turn and per tool call, with ids and figures and never with content. Dashboards and alerts
// read these lines, so their field names are an interface: docs/operations.md lists them.
import type { TurnId } from '../../core/ids.ts';
import { toDollars, type CostTotal } from '../../core/prices.ts';
import { formatCallId } from '../../model/observers/observer.ts';
import { refOfModel, type NamedModel, modelName, modelOfRef } from '../../core/models.ts';
import type { EarlierPark } from '../sessions/claim-session.ts';
import type { NewEvent } from '../events/events.ts';
import type { Reason } from '../rules/why.ts';
import type { ModelCallRow, TurnEnd } from './journal/journal.ts';
import { type OpenedTurn, laneOf, pickLogIds } from './opened-turn.ts';
import { listToolUses } from '../../core/content.ts';
import type { TurnFigures } from './journal/finish-turn.ts';
import type { TurnContext } from './context.ts';

// The events of model calls, and of turns that wait for one, always in one form: both name the call
// as logs and traces do, `<turn>:model:<n>`.

/** A parked turn resumes. */
export function turnResumed(park: EarlierPark): NewEvent {
  return { type: 'turn.resumed', data: { code: park.code, waitedMs: park.waitedMs } };
}

/** A model cannot be called for a time: this turn waits, as all others that ask it. */
export function modelBlocked({ by, code, text }: Reason): NewEvent {
  return { type: 'model.blocked', data: { provider: by, code, text } };
}

/** A turn continues with another of its models. */
export function modelFallback(step: { from: string; to: string; reason: string }): NewEvent {
  return { type: 'model.fallback', data: step };
}

/** A call is about to be made. */
export function modelStarted(turnId: TurnId, callNo: number): NewEvent {
  return { type: 'model.started', data: { call: callNo, callId: formatCallId(turnId, callNo) } };
}

/**
 * A call has ended, with its measurements and its cost. The roll-ups of usage are made of these
 * events, so each names what they are grouped by. `retryInMs`: when it is made again.
 */
export function modelEnded({ id, kind, session }: OpenedTurn, row: ModelCallRow, retryInMs?: number): NewEvent {
  const { callNo, status, stopReason, error, notes } = row;
  const outcome = status === 'ok' ? { stopReason } : { error, ...(retryInMs === undefined ? {} : { retryInMs }) };
  return {
    type: 'model.ended',
    data: {
      call: callNo,
      callId: formatCallId(id, callNo),
      status,
      ...outcome,
      ...describeCost(row),
      agentId: session.agentId,
      kind,
      lane: session.lane,
      firstChunkMs:
        row.firstChunkAt === null ? null : Math.max(0, row.firstChunkAt.getTime() - row.startedAt.getTime()),
      ...notes,
    },
  };
}

function describeCost(row: ModelCallRow): Record<string, unknown> {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens } = row;
  const { model, tier, costMicros, isEstimated, isSimulated } = row;
  return {
    model,
    tier,
    usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens },
    cacheWrite1hTokens,
    costUsd: toDollars(costMicros),
    costMicros,
    isEstimated,
    simulated: isSimulated,
  };
}

/** The end of a turn, with its cost. */
export function turnEnded(
  { session, kind, chain }: OpenedTurn,
  total: CostTotal,
  { answered, ...outcome }: { status: string; reply: string | null; error: object | null; answered: NamedModel | null },
): NewEvent {
  const { costMicros, unpricedCalls, isSimulated } = total;
  return {
    type: 'turn.ended',
    data: {
      ...outcome,
      agentId: session.agentId,
      kind,
      lane: session.lane,
      model: answered === null ? (chain[0] ?? null) : refOfModel(answered),
      costUsd: toDollars(costMicros),
      costMicros,
      unpricedCalls,
      simulated: isSimulated,
    },
  };
}

type Reported = Pick<TurnContext, 'logger' | 'meter' | 'tracing'>;

interface LoggedTurn extends Pick<TurnEnd, 'status' | 'error' | 'deadLetter'> {
  figures: TurnFigures;
}

export function reportTurnStart(context: Reported, turn: OpenedTurn, messageIds: readonly string[]): void {
  const { session, kind, journal } = turn;
  const facts = { ...pickLogIds(context, turn), agentId: session.agentId, kind, lane: laneOf(turn), messageIds };
  context.logger.debug({ ...facts, model: modelName(journal.attempt.request) }, 'Turn started');
}

/** Logs and counts a tool call that has ended, with its name and never with its arguments. */
export function reportTool(
  context: Reported,
  turn: OpenedTurn,
  call: { name: string; callId: string; status: 'done' | 'failed' | 'unknown' | 'stopped'; durationMs: number },
): void {
  const { name, callId, status, durationMs } = call;
  context.meter.toolRan(turn, { name, status, durationMs });
  const facts = { ...pickLogIds(context, turn), tool: name, callId, status, durationMs: Math.round(durationMs) };
  context.logger.debug(facts, 'Tool call ended');
}

/** Logs and counts a turn that has ended; one that failed is a warning. */
export function reportTurnEnd(context: Reported, turn: OpenedTurn, end: LoggedTurn): void {
  const { status, error, deadLetter, figures } = end;
  context.meter.turnEnded(turn, end);
  const { session } = turn;
  const { progress } = turn.journal.at;
  const facts = {
    ...pickLogIds(context, turn),
    agentId: session.agentId,
    kind: turn.kind,
    lane: session.lane,
    status,
    ...(error === null ? {} : { code: error.code }),
    ...(deadLetter === null ? {} : { deadLetterId: deadLetter.id }),
    ...figures,
    modelCalls: progress.calls,
    inputTokens: progress.inputTokens,
    outputTokens: progress.outputTokens,
    cacheReadTokens: progress.cacheReadTokens,
    cacheWriteTokens: progress.cacheWriteTokens,
    costMicros: progress.costMicros,
    ...(progress.unpricedCalls === 0 ? {} : { unpricedCalls: progress.unpricedCalls }),
    toolCalls: countToolCalls(turn),
  };
  if (status === 'failed' || status === 'timedOut') context.logger.warn(facts, 'Turn ended');
  else context.logger.info(facts, 'Turn ended');
}

/** Counts these model calls, and logs those of them that failed. */
export function reportCalls(context: Reported, turn: OpenedTurn, calls: readonly ModelCallRow[]): void {
  for (const call of calls) {
    context.meter.modelCalled(turn, call);
    if (call.status !== 'failed') continue;
    const { callNo, purpose, error, notes } = call;
    context.logger.warn(
      {
        ...pickLogIds(context, turn),
        callId: formatCallId(turn.id, callNo),
        model: modelOfRef(call.model).model,
        ...(purpose === undefined ? {} : { purpose }),
        code: error?.['code'],
        httpStatus: error?.['status'],
        durationMs: notes?.durationMs,
      },
      'Model call failed',
    );
  }
}

/**
 * How many tools the turn has called, in all attempts: those of the answers after its prompt, as
 * far as they are not compacted.
 */
function countToolCalls({ transcript }: OpenedTurn): number {
  let count = 0;
  for (let index = transcript.entries.length - 1; index >= 0; index -= 1) {
    const entry = transcript.entries[index];
    if (entry === undefined || entry.kind === 'prompt') break;
    if (entry.kind === 'answer') count += listToolUses(entry.content).length;
  }
  return count;
}
