// Asks the model for the next answer of a turn. The turn has one stored retry budget, and each call
// is charged to it before it is sent (G16): a failed call is committed before the next one starts,
// so a restart does not reset the budget. A cut stream is a failed call, never an answer. Money is
// another matter: a check of the gate reserves it (features/budgets/check-budgets.ts).
import { samplingAt } from '../../../core/input-options.ts';
import { CONTEXT_OVERFLOW } from '../../../core/failure.ts';
import { given } from '../../../core/json.ts';
import type { CallView } from '../../../core/view.ts';
import { chooseBlockMs } from '../../rules/model-outage.ts';
import type { RequestBase } from '../../../core/model-request.ts';
import { createReplyStream } from '../../../model/stream/reply-stream.ts';
import { ModelError } from '../../../model/model.ts';
import type { OpenHop } from '../../sessions/claim-session.ts';
import {
  afterFailedCall,
  type FailedCall,
  type Rewriting,
  namingSmallWindows,
  stepAround,
} from './after-failed-call.ts';
import { type Pass, askGate, isOpen, parkedStop } from '../gate/gate.ts';
import { type AnsweredCall, nextCallNo, NO_ROWS } from '../position.ts';
import type { TurnContext } from '../context.ts';
import type { DeltaEvent } from '../delta-writer.ts';
import { IdleClock, chooseIdleTimeout, abortedBy, CallRecord, failedBy, toModelError } from '../model-call.ts';
import { createInputTransform } from '../../../model/stream/replace-text.ts';
import { rememberTraits, askInstead, takeKey, takeTraits, toCallView } from '../open/asked-model.ts';
import type { NextRequest } from '../request-view.ts';
import { fitToWindow, type OpenedTurn } from '../opened-turn.ts';
import { buildReplyRules, showsReasoning } from './judge-answer.ts';
import { TurnStopped, TurnFailed } from '../turn-stop.ts';
import { refOfModel } from '../../../core/models.ts';
import { storeStep } from '../store-step.ts';
import { compactWhenFull, reasonToCompact } from '../compact/compact-when-full.ts';
import type { ComingCall } from '../gate-check.ts';
import { modelStarted, turnResumed } from '../turn-log.ts';

/**
 * Resolves with a complete answer. Throws `TurnFailed` when there will be none, `TurnStopped` when
 * the turn stops.
 */
export async function askModel(context: TurnContext, turn: OpenedTurn): Promise<AnsweredCall> {
  let pass = await beginCall(context, turn, 'live');
  const rewritten = new Set<Rewriting>();
  for (let silences = 0, blocks = 0; ;) {
    try {
      pass.begun();
      const result = await askOnce(context, turn, { pass });
      if (!('fault' in result)) {
        pass.answered();
        pass.used(result.call);
        await rememberTraits(context, turn);
        return result;
      }
      pass.used(result.row);
      const { type } = result.fault;
      // A context that is full has answered.
      silences = type === 'idle_timeout' ? silences + 1 : type === CONTEXT_OVERFLOW ? 0 : silences;
      if (result.hasAnswered === true) rewritten.clear();
      blocks = chooseBlockMs(result.fault) === null ? 0 : blocks + 1;
      await afterFailedCall(context, turn, { ...result, pass, silences, blocks, rewritten });
    } finally {
      pass.left();
    }
    pass = await enterNextGate(context, turn, 'live');
  }
}

/**
 * One call: it is sent with its pass, or a batch of the provider has answered it, and its request
 * is made as it was made then.
 */
type CallSource = { pass: Pass; hop?: null } | { pass?: null; hop: OpenHop };

/** Makes one call. Throws `TurnStopped` when the turn stops. */
export async function askOnce(
  context: TurnContext,
  turn: OpenedTurn,
  { pass = null, hop = null }: CallSource,
): Promise<AnsweredCall | (Pick<FailedCall, 'fault' | 'row'> & { hasAnswered?: true })> {
  if (hop === null) pruneWhenCold(context, turn);
  const { messages, newFrom, callView } = nextRequest(turn);
  const { requests } = turn.journal.attempt;
  // A batch of the provider has the request as it was made for it.
  const { request, facts } =
    hop === null
      ? writeRequest(context, turn)
      : { request: turn.journal.attempt.request, facts: given({ cache: hop.cache ?? undefined }) };
  const view = Object.keys(facts).length === 0 ? callView : { ...callView, ...facts };
  const callNo = turn.journal.at.progress.calls;
  const record = new CallRecord(context, turn, {
    callNo,
    view,
    model: request,
    ...(hop === null ? {} : { tier: 'batch' }),
  });
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const { streaming: isStreaming } = context.config.models.providers.anthropic;
  const idle = new IdleClock(chooseIdleTimeout(turn, { isStreaming }), [turn.held.signal]);
  const reply = createReplyStream(buildReplyRules(context, turn));
  const show = (type: DeltaEvent['type'], text: string): void => {
    if (text !== '') context.store.deltas.add(target, { type, data: { call: callNo, text } });
  };
  const failed = (fault: ModelError) => ({ fault, row: record.ended(failedBy(fault)) });
  try {
    const answer = await context.models.client.ask(
      {
        ...sampled(request, turn.journal.at.progress.steps + 1),
        ...createInputTransform(requests.rules.view)({ system: request.system, messages: [...messages] }),
      },
      {
        ...record.options(),
        newFrom,
        ...(hop === null ? {} : { received: { body: hop.result, sha256: hop.sha256 } }),
        signal: idle.signal,
        onRemaining: (left) => pass?.remaining(left),
        onChunk: (text) => {
          idle.restart();
          record.arrived();
          show('model.delta', reply.push(text));
        },
        ...(showsReasoning(turn) ? { onReasoning: (text: string) => show('model.reasoning', text) } : undefined),
        unknownToolThreshold: context.config.tools.loopDetection.unknownToolThreshold,
        replacements: context.plugins.textTransforms.output,
      },
    );
    show('model.delta', reply.end());
    context.models.recentOutputs.add(turn.agent.id, answer.usage.outputTokens);
    if (answer.stopReason !== CONTEXT_OVERFLOW) return { answer, call: record.ended({ answer }) };
    const fault = windowExceeded();
    return { fault, row: record.ended({ ...failedBy(fault), usage: answer.usage }), hasAnswered: true };
  } catch (error) {
    if (!(error instanceof TurnStopped)) return failed(toModelError(context, error));
    turn.journal.note({ unstoredCall: record.ended(abortedBy(error.reason)) });
    throw error;
  } finally {
    idle.stop();
  }
}

/**
 * The request of a call without its messages, as the server of its model takes it, and what the
 * call stores of that.
 */
function writeRequest(
  { config }: TurnContext,
  turn: OpenedTurn,
): { request: RequestBase; facts: Pick<CallView, 'traits' | 'limits'> } {
  const { request, traits: all } = turn.journal.attempt;
  const { maxTokens, thinking: _thinking, effort: _effort, ...rest } = request;
  const limits = fitToWindow(config, turn);
  const { contextTokens: _window, ...traits } = all;
  const facts = {
    ...(Object.keys(traits).length === 0 ? {} : { traits }),
    ...(limits.maxTokens === maxTokens ? {} : { limits }),
  };
  return { request: { ...rest, ...limits, ...given({ traits: facts.traits }) }, facts };
}

/** The request of a step; what is chosen for the first one alone is left out of later ones. */
export function sampled(request: RequestBase, step: number): RequestBase {
  const { sampling: all, ...base } = request;
  const sampling = samplingAt(all, step);
  return sampling === undefined ? base : { ...base, sampling };
}

/**
 * The answer broke off because the context was full: the same as a prompt that is refused for its
 * length.
 */
function windowExceeded(): ModelError {
  const message = 'The answer broke off because the context window was full.';
  return new ModelError({ type: CONTEXT_OVERFLOW, status: null, retryAfterMs: null, message });
}

// What every call for an answer begins with, of the model and of a plugin's harness: it passes the
// gate, it is charged, and there is room for it.

/**
 * The right to make the next call, which is charged. Throws as `enterNextGate` does, and
 * `TurnStopped` when the turn stops meanwhile.
 */
export async function beginCall(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): Promise<Pass> {
  const pass = await enterNextGate(context, turn, way);
  try {
    const { isCharged, park } = turn.journal.at;
    const calls = nextCallNo(turn.journal.at);
    if (!isCharged) {
      const resumed = park === null ? [] : [turnResumed(park)];
      await storeStep(context, turn, {
        ...NO_ROWS,
        totals: { calls },
        events: [...resumed, modelStarted(turn.id, calls)],
      });
    }
    if (way === 'live') pruneWhenCold(context, turn);
    if (reasonToCompact(turn) === null) return pass;
  } catch (error) {
    pass.left();
    throw error;
  }
  // A compaction makes calls with passes of their own: beside this one, they might wait for ever
  // for room in a limit.
  pass.left();
  await compactWhenFull(context, turn);
  return await enterNextGate(context, turn, way);
}

/**
 * The right to make the next call of a turn. While its model cannot be called, the turn falls back
 * to its next one. Throws `TurnStopped` (parked) while no model can be called, `TurnFailed` when
 * none ever can.
 */
export async function enterNextGate(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): Promise<Pass> {
  const { request, fallback, unstoredEvents } = turn.journal.attempt;
  const before = { model: refOfModel(request), reason: fallback?.reason ?? null };
  for (let asks = 1; ; asks += 1) {
    takeKey(context, turn, way);
    takeTraits(context, turn);
    const entry = await askGate(context, nextCall(context, turn, way));
    if (!('reason' in entry)) return entry;
    // Another worker has the probe of the key: the next one is asked.
    if (entry.isOfModel === true && mayAskNextKey(context, turn, asks)) continue;
    if (entry.isOfModel === true && stepAround(context, turn, entry.reason)) {
      asks = 0;
      continue;
    }
    const wait = entry.isOfModel === true ? namingSmallWindows(context, turn, entry) : entry;
    // None of the fallbacks has been sent anything, so no entry is theirs.
    if (refOfModel(turn.journal.attempt.request) !== before.model) askInstead(context, turn, before);
    turn.journal.note({ unstoredEvents });
    throw parkedStop(context, turn, wait);
  }
}

function mayAskNextKey(context: TurnContext, turn: OpenedTurn, asks: number): boolean {
  const { request } = turn.journal.attempt;
  return request.key !== undefined && asks < context.models.client.keysOf(request).length && isOpen(context, request);
}

function nextCall(context: TurnContext, turn: OpenedTurn, way: ComingCall['way']): ComingCall {
  const { journal } = turn;
  return {
    turn,
    way,
    model: journal.attempt.request,
    callNo: nextCallNo(journal.at),
    request() {
      if (way !== 'harness') pruneWhenCold(context, turn);
      return { ...journal.attempt.request, messages: [...journal.attempt.requests.messages] };
    },
  };
}

/**
 * The request of the call to be made. Throws `TurnFailed` for a history that every provider
 * refuses, `TurnStopped` when the turn stops.
 */
export function nextRequest(turn: OpenedTurn): Omit<NextRequest, 'violations'> {
  turn.held.assertHeld();
  const { violations, callView, ...request } = turn.journal.attempt.requests.next();
  if (violations.length > 0) {
    const details = violations.slice(0, 3).map((violation) => `message ${violation.at}: ${violation.detail}`);
    throw new TurnFailed('malformed_history', `The history cannot be sent: ${details.join('; ')}.`);
  }
  return { ...request, callView: toCallView(turn, callView) };
}

/**
 * Prunes the view of the turn when the provider's cache has gone cold; it lasts for the session.
 */
export function pruneWhenCold({ clock }: TurnContext, turn: OpenedTurn): void {
  const { contextPruning: pruning, contextTokens } = turn.agent;
  const { sessionView, requests } = turn.journal.attempt;
  const decided = requests.decide({ sessionView, pruning, contextTokens, nowMs: clock.now().getTime() });
  if (decided !== undefined) turn.journal.note({ sessionView: decided });
}
