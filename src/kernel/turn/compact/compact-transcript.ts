// Compaction as a recorded step of a turn: the summary of older entries takes their place. After a
// crash at any point, a transcript never has a summary twice, and a summary that was paid for is
// not requested again:
//
//   begin       the call is charged and the row says `running` begin-compaction
//   ask         one model call with its own deadline
//   answered    only with a memory to be written: the answer is kept, then the memory is appended
//   completed   the summary is an entry, the older ones keep their rows compaction-completed
//   failed      or it did not succeed: the transcript is unchanged compaction-failed
//
// If the provider has refused a request for its length, an unchanged transcript would be refused
// for ever. Where no summary can be had then, a note takes the place of the older entries.
//
// After a crash the next worker finds `running`: with an answer it resumes after the flush, without
// one it starts again, as one more attempt. A turn has few attempts; between them it waits no
// longer than `aggregateWaitSeconds` in total.
import { cutHead } from '../../../core/text.ts';
import { findIdentifiers, summaryText } from '../../../compaction/summary-text.ts';
import { planCompaction, type CompactionPlan } from '../../../compaction/plan-compaction.ts';
import { summaryRequest } from '../../../compaction/summary-request.ts';
import { joinText } from '../../../core/content.ts';
import { isTooLong, retryDelayMs } from '../../../core/failure.ts';
import { factsOfModel } from '../../../config.ts';
import { refOfModel, type NamedModel } from '../../../core/models.ts';
import { newId } from '../../../ids.ts';
import type { AnsweredCompaction } from '../journal/begin-compaction.ts';
import type { CompactionStep } from '../journal/write-compaction.ts';
import {
  askForSummary,
  summaryModel,
  type SummaryCall,
  DID_NOT_SHRINK,
  EMPTY_SUMMARY,
  summaryFault,
  beginCompaction,
  callWrite,
  writeCompaction,
  type CompactionRequest,
} from './compact-write.ts';
import { enterGate, type Pass, withKey, parkedStop, mayStay, retriesMaxOf } from '../gate/gate.ts';
import { nextCallNo, NO_ROWS } from '../position.ts';
import type { TurnContext } from '../context.ts';
import { hasEffects } from '../../../core/session-key.ts';
import { mayFlushMemory, toMemoryNote } from './memory-flush.ts';
import { estimateNextRequest, usedWindow, type OpenedTurn } from '../opened-turn.ts';
import { finishCompaction, finishWithoutSummary, type CompactionOutcome } from './finish-compaction.ts';
import { fallbacksLeft } from '../open/asked-model.ts';
import { callCodeOf, TurnStopped } from '../turn-stop.ts';

/**
 * The result of one attempt. `again`: another may succeed, after this many milliseconds, and with
 * less input when this one was too large.
 */
type Attempt =
  | CompactionOutcome
  | { kind: 'again'; delayMs: number; wasTooMuch: boolean; code: string; message: string };

/**
 * Compacts the transcript of a turn. Throws `TurnStopped` when the turn stops or the session is
 * lost.
 */
export async function compactTranscript(
  context: TurnContext,
  turn: OpenedTurn,
  asked: CompactionRequest,
): Promise<CompactionOutcome> {
  let waitMs = turn.agent.compaction.aggregateWaitSeconds * 1000;
  let squeeze = 0;
  turn.journal.note({ isCompacting: true });
  try {
    for (;;) {
      const attempt = await compactOnce(context, turn, asked, squeeze);
      if (attempt.kind !== 'again') return attempt;
      const { delayMs, code, message } = attempt;
      if (delayMs > waitMs) return { kind: 'unchanged', code, message };
      waitMs -= delayMs;
      if (attempt.wasTooMuch) squeeze += 1;
      await turn.held.pause(delayMs);
    }
  } finally {
    turn.journal.note({ isCompacting: false });
  }
}

async function compactOnce(
  context: TurnContext,
  turn: OpenedTurn,
  asked: CompactionRequest,
  squeeze: number,
): Promise<Attempt> {
  const plan = planFor(turn, asked, squeeze);
  const tokensBefore = estimateNextRequest(turn);
  if (plan === null) return NOTHING_TO_DO;
  const model = withKey(context, turn.session.id, summaryModel(context, turn));
  const [id, callNo] = [newId<string>(), nextCallNo(turn.journal.at)];
  const { request, requests } = turn.journal.attempt;
  const pass = await enterGate(context, {
    turn,
    way: 'live',
    purpose: 'compaction',
    model,
    callNo,
    request: () => ({ ...request, ...model, messages: [...requests.messages] }),
  });
  try {
    const { maxAttempts } = turn.agent.compaction;
    const begun = await beginCompaction(context, turn, { id, asked, tokensBefore });
    if (begun.kind === 'exhausted') return { ...EXHAUSTED, message: `All ${maxAttempts} attempts failed.` };
    if (begun.kind === 'answered')
      return await finishCompaction(context, turn, begun.compaction, { write: NO_ROWS, called: null });
    const isLast = begun.attempt >= maxAttempts;
    const mayFlush =
      asked.reason === 'threshold' &&
      begun.mayFlush &&
      turn.kind !== 'heartbeat' &&
      hasEffects(turn.session) &&
      mayFlushMemory(context.config, turn.agent);
    const compaction: CompactionAttempt = { id, tokensBefore, isLast, plan, mayFlush, asked, pass, model };
    const facts = factsOfModel(context.config, refOfModel(model));
    // A window that the server of one model has named says nothing of another.
    const used = refOfModel(model) === refOfModel(request) ? usedWindow(turn) : turn.agent.contextTokens;
    pass.begun();
    const called = await askForSummary(context, turn, {
      callNo,
      request: summaryRequest({
        ...asked,
        retired: plan.retired,
        ...model,
        facts,
        contextTokens: Math.min(used, facts?.contextTokens ?? Infinity),
        squeeze,
        mayFlush,
      }),
    });
    pass.used(called.call);
    if (called.kind !== 'answered') return await takeFailure(context, turn, compaction, called);
    pass.answered();
    return await takeAnswer(context, turn, compaction, called);
  } finally {
    // An attempt that was broken off before its call has ended would hold back every other session.
    pass.left();
  }
}

/** A compaction that was begun by this worker. */
interface CompactionAttempt {
  id: string;
  tokensBefore: number;
  /** True when the turn has no other attempt. */
  isLast: boolean;
  plan: CompactionPlan;
  mayFlush: boolean;
  asked: CompactionRequest;
  pass: Pass;
  model: NamedModel;
}

async function takeAnswer(
  context: TurnContext,
  turn: OpenedTurn,
  compaction: CompactionAttempt,
  called: Extract<SummaryCall, { kind: 'answered' }>,
): Promise<Attempt> {
  const { id, tokensBefore, plan, mayFlush, asked } = compaction;
  const { answer } = called;
  const summary = summaryText(joinText(answer.content), findIdentifiers(plan.retired));
  const note = mayFlush ? toMemoryNote(answer, { now: context.clock.now(), timeZone: turn.agent.userTimezone }) : null;
  const fault = summaryFault(answer, summary, plan.retiredTokens);
  const write = callWrite(turn, called, asked);
  if (summary === null || fault !== null) {
    const error = fault ?? EMPTY_SUMMARY;
    if (compaction.isLast && asked.reason === 'overflow')
      return await finishWithoutSummary(context, turn, compaction, { write, called, error });
    await writeCompaction(context, turn, { id, write, called, step: { kind: 'failed', error } });
    if (compaction.isLast) return { kind: 'unchanged', ...error };
    return { kind: 'again', delayMs: 0, wasTooMuch: error.code === DID_NOT_SHRINK, ...error };
  }
  const { firstKeptSeq, pinnedSeqs } = plan;
  const ready: AnsweredCompaction = { id, tokensBefore, firstKeptSeq, pinnedSeqs, summary, memory: note };
  if (note === null) return await finishCompaction(context, turn, ready, { write, called });
  const step: CompactionStep = { kind: 'answered', cut: { firstKeptSeq, pinnedSeqs }, summary, memory: note };
  await writeCompaction(context, turn, { id, write, called, step });
  return await finishCompaction(context, turn, ready, { write: NO_ROWS, called: null });
}

/** Refusals that an operator can end: of the account, its money, or the name of the model. */
const REFUSALS_OF_ACCOUNT: ReadonlySet<string> = new Set([
  'model_unauthorized',
  'model_billing',
  'model_forbidden',
  'model_not_found',
  'model_spend_limit',
]);

async function takeFailure(
  context: TurnContext,
  turn: OpenedTurn,
  compaction: CompactionAttempt,
  called: Exclude<SummaryCall, { kind: 'answered' }>,
): Promise<Attempt> {
  const { id, isLast, asked, pass, model } = compaction;
  const write = callWrite(turn, called, asked);
  switch (called.kind) {
    case 'timedOut': {
      const { error } = called;
      if (asked.reason === 'overflow')
        return await finishWithoutSummary(context, turn, compaction, { write, called, error });
      await writeCompaction(context, turn, { id, write, called, step: { kind: 'timedOut', error } });
      return { kind: 'unchanged', ...error };
    }
    case 'stopped': {
      const { message } = called.reason;
      const code = callCodeOf(called.reason);
      // A worker that leaves, or has lost the session, leaves the row to the next one.
      if (code !== 'stopped' && code !== 'turn-timeout') throw new TurnStopped(called.reason);
      // The compaction is closed; the end of the turn follows.
      await writeCompaction(context, turn, { id, write, called, step: { kind: 'failed', error: { code, message } } });
      throw new TurnStopped(called.reason);
    }
    case 'failed': {
      const { fault, verdict } = called;
      const wasTooLong = isTooLong(fault);
      // A shorter request does not repeat this one; `maxAttempts` bounds both.
      const retries = turn.journal.at.progress.retries + (wasTooLong ? 0 : 1);
      const setback = await pass.failed(fault);
      const stays = setback === null || mayStay(context, turn, { setback, model, blocksInARow: 1 });
      // Another key is asked at once, and the attempt does not count.
      const asksNextKey = setback?.kind === 'key' && stays;
      const isRetryable = asksNextKey || ((wasTooLong || verdict.kind !== 'fatal') && !isLast);
      const mayRetry = isRetryable && stays && retries <= retriesMaxOf(context.config, model);
      // An attempt that an outage has ended does not count: the turn waits, and tries again.
      const code = setback === null || (mayRetry && !asksNextKey) ? verdict.code : setback.wait.reason.code;
      const error = { code, message: cutHead(fault.message, 2000) };
      const isFinal = !mayRetry && setback === null && !REFUSALS_OF_ACCOUNT.has(code);
      if (isFinal && asked.reason === 'overflow')
        return await finishWithoutSummary(context, turn, compaction, { write, called, error });
      const charged = mayRetry ? { ...write, totals: { ...write.totals, retries } } : write;
      await writeCompaction(context, turn, { id, write: charged, called, step: { kind: 'failed', error } });
      if (!mayRetry && setback !== null && fallbacksLeft(turn).length === 0)
        throw parkedStop(context, turn, setback.wait);
      if (!mayRetry) return { kind: 'unchanged', ...error };
      // The next attempt shortens the input; there is nothing to wait for.
      if (wasTooLong) return { kind: 'again', delayMs: 0, wasTooMuch: true, ...error };
      const { retryAfterMs } = fault;
      const delayMs = asksNextKey ? 0 : retryDelayMs({ attempt: retries, random: context.random(), retryAfterMs });
      return { kind: 'again', delayMs, wasTooMuch: false, ...error };
    }
    default:
      return called satisfies never;
  }
}

/** The cut of a compaction for this reason; null when it would win nothing. */
export function planFor(
  turn: OpenedTurn,
  { reason }: Pick<CompactionRequest, 'reason'>,
  squeeze: number,
): CompactionPlan | null {
  const bounds = { ...turn.agent.compaction, contextTokens: usedWindow(turn) };
  return planCompaction(turn.transcript.entries, { bounds, reason, squeeze });
}

/** The code of an outcome: a summary would win nothing. */
export const NOTHING_TO_COMPACT = 'nothing_to_compact';
const NOTHING_TO_DO: CompactionOutcome = {
  kind: 'unchanged',
  code: NOTHING_TO_COMPACT,
  message: 'A summary would not shorten the conversation.',
};
const EXHAUSTED = { kind: 'unchanged', code: 'compaction_exhausted' } as const;
