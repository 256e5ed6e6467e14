// Asks the model for the next answer of a turn. One stored retry budget for the whole turn, charged before each call (G16):
// the cost of a failed call is committed before the next one starts, so a restart does not reset the budget. A cut stream is
// a failed call, never an answer.
import { samplingAt } from '../../../core/caller-request.ts';
import { CONTEXT_OVERFLOW } from '../../../core/failure.ts';
import { given } from '../../../core/given.ts';
import type { CallView } from '../../../core/view.ts';
import { chooseBlockMs } from '../../rules/model-outage.ts';
import type { RequestBase } from '../../../core/model-request.ts';
import { createReplyStream } from '../../../model/stream/reply-stream.ts';
import { ModelError } from '../../../model/model.ts';
import type { OpenHop } from '../../sessions/claim-session.ts';
import { afterFailedCall, type FailedCall } from './after-failed-call.ts';
import { beginCall, enterNextGate, nextRequest, pruneWhenCold } from './begin-call.ts';
import type { Pass } from '../gate/gate.ts';
import type { AnsweredCall } from '../turn-write.ts';
import type { TurnContext } from '../context.ts';
import type { DeltaEvent } from '../delta-writer.ts';
import { IdleClock, chooseIdleTimeout } from '../idle-clock.ts';
import { createInputTransform } from '../input-transform.ts';
import { abortedBy, CallRecord, failedBy, toModelError } from '../model-call.ts';
import { rememberTraits } from '../open/asked-model.ts';
import { fitToWindow } from '../request-tokens.ts';
import type { Rewriting } from './rewrite-request.ts';
import { buildReplyRules, showsReasoning } from '../reply-rules.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnStopped } from '../turn-stop.ts';

/** Resolves with a complete answer. Throws `TurnFailed` when there will be none, `TurnStopped` when the turn stops. */
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

/** One call: it is sent with its pass, or a batch of the provider has answered it, and its request is made as it was made then. */
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
    if (text !== '') context.deltas.add(target, { type, data: { call: callNo, text } });
  };
  const failed = (fault: ModelError) => ({ fault, row: record.ended(failedBy(fault)) });
  try {
    const answer = await context.model.ask(
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
    context.recentOutputs.add(turn.agent.id, answer.usage.outputTokens);
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

/** The request of a call without its messages, as the server of its model takes it, and what the call stores of that. */
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

/** The answer broke off because the context was full: the same as a prompt that is refused for its length. */
function windowExceeded(): ModelError {
  const message = 'The answer broke off because the context window was full.';
  return new ModelError({ type: CONTEXT_OVERFLOW, status: null, retryAfterMs: null, message });
}
