// The log lines of turns, and the metrics counted with them: one line per ended turn and one per failed model call, and at the level debug one per
// opened turn and per tool call, with ids and figures and never with content.
// Dashboards and alerts read these lines, so their field names are an interface: docs/operations.md lists them.
import { listToolUses } from '../../core/content.ts';
import { modelName, modelOfRef } from '../../core/model-ref.ts';
import { formatCallId } from '../../model/observers/observer.ts';
import type { ModelCallRow } from './journal/journal.ts';
import type { TurnFigures } from './journal/finish-turn.ts';
import type { TurnEnd } from './journal/turn-end.ts';
import type { TurnContext } from './context.ts';
import { laneOf, pickLogIds, type OpenedTurn } from './opened-turn.ts';

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

/** How many tools the turn has called, in all attempts: those of the answers after its prompt, as far as they are not compacted. */
function countToolCalls({ transcript }: OpenedTurn): number {
  let count = 0;
  for (let index = transcript.entries.length - 1; index >= 0; index -= 1) {
    const entry = transcript.entries[index];
    if (entry === undefined || entry.kind === 'prompt') break;
    if (entry.kind === 'answer') count += listToolUses(entry.content).length;
  }
  return count;
}
