// Stores the end of a turn: one statement, which also gives the lock back.
import { newId } from '../../../ids.ts';
import { attemptEffects } from '../../effects/carry-out.ts';
import type { TurnEffect } from '../../effects/turn-effects.ts';
import type { FinishResult } from '../journal/finish-turn.ts';
import { modelName, refOfModel } from '../../../core/model-ref.ts';
import { isPassingFault } from '../../../database/database.ts';
import { mergeAll } from '../../queue/rings.ts';
import { CALLER_TIMEOUT } from '../wait-reasons.ts';
import type { TurnContext } from '../context.ts';
import { toCap } from '../open/queue-cap.ts';
import { pickLogIds, type OpenedTurn } from '../opened-turn.ts';
import { turnEnded } from '../model-events.ts';
import { reportCalls, reportTurnEnd } from '../turn-log.ts';
import { lastTokensAfter, progressAfter } from '../position.ts';
import { TurnStopped } from '../turn-stop.ts';
import type { EndDecision, TurnResult, TurnWrite } from '../turn-write.ts';
import { brokenCallWrite } from './end-turn.ts';
import { given } from '../../../core/given.ts';

/** Ends the turn as decided, and carries out its effects. Throws `TurnStopped` (`lock-lost`) when this worker no longer holds the session. */
export async function storeEnd(
  context: TurnContext,
  turn: OpenedTurn,
  { write, result }: EndDecision,
): Promise<Extract<FinishResult, { kind: 'ok' }>> {
  const { session, journal } = turn;
  const { status, messageStatus, reply, error, isInterrupted = false, hides = null } = result;
  const { queue } = context.config.messages;
  // A failure waits until a person retries or discards it (G17). A turn that was stopped ended as requested, and only the client could have
  // sent the results of its tools.
  const hasFailed = error !== null && (status === 'failed' || status === 'timedOut') && error.code !== CALLER_TIMEOUT;
  const deadLetter = hasFailed ? { id: newId<string>(), code: error.code, reason: error.message } : null;
  // The last answer is that of the model which is asked now.
  const { request } = journal.attempt;
  const answered = error === null && refOfModel(request) !== turn.chain[0] ? request : null;
  const effects = listEffects(context, turn, result).map((effect) => ({ id: newId<string>(), ...effect }));
  const ending = await journal.store(write, (rows) =>
    context.store.finishTurn({
      ...rows,
      status,
      messageStatus,
      reply,
      error,
      wasAborted: result.wasAborted ?? false,
      contextTokens: countContextTokens(turn, write, result),
      deliveries: result.deliveries ?? [],
      deadLetter,
      hides,
      ...given({
        answeredModel: answered === null ? undefined : modelName(answered),
        collectMax: result.collectMax,
        hidesFromSeq: result.hidesFromSeq,
        hidesSummary: result.hidesSummary,
      }),
      debounceMs: isInterrupted ? 0 : (session.queueDebounceMs ?? queue.debounceMs),
      announceDebounceMs: isInterrupted ? 0 : turn.agent.subagents.announceDebounce,
      gatherMsMax: queue.gatherMsMax,
      cap: toCap(context, session),
      steerSeen: journal.attempt.steersSeen,
      ended: turnEnded(turn, progressAfter(journal.at.progress, write), { status, reply, error, answered }),
      effects,
    }),
  );
  context.tracing?.turnEnded(turn.id);
  reportCalls(context, turn, write.modelCalls);
  reportTurnEnd(context, turn, { status, error, figures: ending.figures, deadLetter });
  if (hides === null) context.transcripts.keep(session.id, turn.transcript);
  if (effects.length === 0) return ending;
  const staying = effects.map(({ kind }) => kind).filter((kind) => !(kind in context.effects));
  if (staying.length > 0)
    context.logger.warn({ ...pickLogIds(context, turn), effects: staying }, NO_FEATURE_CARRIES_OUT);
  // After the costs of its calls, which older schedulers release with the turn.
  return { ...ending, after: mergeAll([ending, { after: await attemptEffects(context, session.id) }]) };
}

const NO_FEATURE_CARRIES_OUT = 'No feature carries out the effects of the turn; they stay until one does';

/** What the end of the turn leaves to be done beside its session. */
function listEffects({ features }: TurnContext, turn: OpenedTurn, result: TurnResult): TurnEffect[] {
  const { id: turnId, session } = turn;
  const { outreach = [], wasAborted = false } = result;
  const effects = [...outreach, ...features.flatMap((feature) => feature.effects?.(turn, result) ?? [])];
  // A run that is stopped meanwhile counts the turn.
  const isOfSubagent = session.runId !== null || (wasAborted && session.depth > 0);
  if (isOfSubagent && !effects.some((effect) => effect.kind === 'run-ended'))
    effects.push({ kind: 'run-ended', turnId, runId: session.runId, end: null });
  return effects;
}

/**
 * Stores the call that a worker breaks off because it leaves, so that its cost is known; the turn stays open. False when this worker no
 * longer holds the session.
 */
export async function storeBrokenCall(context: TurnContext, turn: OpenedTurn): Promise<boolean> {
  if (turn.journal.attempt.unstoredCall === null) return true;
  const write = await brokenCallWrite(context, turn);
  try {
    context.publish(await turn.journal.store(write, (rows) => context.store.commitStep(rows)));
    for (const call of write.modelCalls) context.meter.modelCalled(turn, call);
    return true;
  } catch (error) {
    if (error instanceof TurnStopped) return false;
    if (isPassingFault(error)) throw error;
    // The session need not wait for the end of the lease.
    context.logger.error(
      { err: error, ...pickLogIds(context, turn) },
      'Interrupted model call could not be stored; its cost is not known',
    );
    return true;
  }
}

/** Tokens of the session's context; 0: not known. */
function countContextTokens({ journal, session }: OpenedTurn, write: TurnWrite, result: TurnResult): number {
  if (result.isBare === true || result.hidesSummary !== undefined) return 0;
  if (result.hides === 'poll' || result.collectMax !== undefined)
    return journal.at.tokens.compacted ?? session.contextTokens;
  return lastTokensAfter(journal.at, write);
}
