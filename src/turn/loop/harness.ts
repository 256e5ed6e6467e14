// Which harness answers a turn: chosen once, when the turn is opened, and stored with it. The built-in harness calls the model; a
// plugin's harness is called instead of it, and its answers are committed by the same journal. A turn that a harness has started is
// never continued by another: when that harness fails, or no longer exists, the turn fails (G11).
import type { AgentSettings } from '../../config.ts';
import { BUILT_IN_HARNESS, selectHarness } from '../../core/harness-selection.ts';
import { DEFAULT_PROVIDER } from '../../core/model-ref.ts';
import type { ModelAnswer } from '../../core/model-request.ts';
import type { TurnRequestSettings } from '../../core/view.ts';
import { HarnessError, type CheckedHarness, type HarnessReading } from '../../plugins/harness.ts';
import type { ModelCallRow } from '../../store/journal.ts';
import { askModel, type AnsweredCall } from './ask-model.ts';
import { beginCall, nextRequest } from './begin-call.ts';
import type { RequestBase, TurnContext } from '../context.ts';
import { inputTransformOf } from './input-transform.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { callCodeOf, TurnFailed, TurnStopped } from '../turn-end.ts';

/** What the opening of a turn decides about its harness; `failure`: the one that must answer is not there. */
export function chooseHarness(
  context: TurnContext,
  agent: AgentSettings,
  request: RequestBase,
): { view: Pick<TurnRequestSettings, 'harness'>; failure: TurnFailed | null } {
  const target = targetOf(request);
  const candidates = context.plugins.harnesses.map((harness) => ({
    id: harness.id,
    priority: harness.priority,
    isSupporting: harness.supports(target),
  }));
  const { kind, id, reason } = selectHarness(agent.harness, candidates);
  if (kind === 'missing') return { view: { harness: { id, reason } }, failure: missing(id) };
  // What is not written is the built-in, because nothing else was there to choose.
  return { view: reason === 'auto_fallback' ? {} : { harness: { id, reason } }, failure: null };
}

/** The next answer of a turn, from its harness. Throws as `askModel` does. */
export async function nextAnswer(context: TurnContext, turn: OpenedTurn): Promise<AnsweredCall> {
  const id = turn.journal.attempt.requests.rules.view.harness?.id ?? BUILT_IN_HARNESS;
  if (id === BUILT_IN_HARNESS) return await askModel(context, turn);
  const harness = context.plugins.harnesses.find((one) => one.id === id);
  if (harness === undefined) throw missing(id);
  return await askHarness(context, turn, harness);
}

async function askHarness(context: TurnContext, turn: OpenedTurn, harness: CheckedHarness): Promise<AnsweredCall> {
  await beginCall(context, turn);
  const { messages, callView } = nextRequest(turn);
  const { request, requests } = turn.journal.attempt;
  const { progress, baseSeq } = turn.journal.at;
  const startedAt = context.clock.now();
  const callNo = progress.calls;
  const row = { callNo, step: progress.steps + 1, view: callView, untilSeq: baseSeq, startedAt };
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const sent = inputTransformOf(requests.rules.view)({ system: request.system, messages: [...messages] });
  try {
    const reading = await harness.run({
      ...targetOf(request),
      sessionKey: turn.session.key,
      sessionId: turn.session.id,
      agentId: turn.agent.id,
      turnId: turn.id,
      callNo,
      workspaceDir: turn.agent.workspaceDir,
      thinking: turn.thinking,
      system: sent.system.map(({ text }) => text).join('\n\n'),
      messages: sent.messages,
      tools: request.tools,
      signal: turn.held.signal,
      onText: (text) => context.deltas.add(target, callNo, text),
    });
    const answer = answerOf(turn, reading);
    return { answer, call: { ...row, ...okPart(answer), endedAt: context.clock.now() } };
  } catch (error) {
    const end = brokenPart(error);
    turn.journal.note({ unstoredCall: { ...row, ...end, endedAt: context.clock.now() } });
    if (!(error instanceof HarnessError)) throw error;
    throw new TurnFailed(error.code, error.message, error);
  }
}

function answerOf({ id, journal }: OpenedTurn, { content, stopReason, usage }: HarnessReading): ModelAnswer {
  const { model } = journal.attempt.request;
  return { id: `harness_${id}_${journal.at.progress.calls}`, model, content, stopReason, usage };
}

type HarnessCallResult = Pick<
  ModelCallRow,
  'status' | 'stopReason' | 'responseId' | 'error' | 'requestSha256' | 'firstChunkAt'
> &
  ModelAnswer['usage'];

function okPart({ id, stopReason, usage }: ModelAnswer): HarnessCallResult {
  return { status: 'ok', stopReason, responseId: id, error: null, requestSha256: null, firstChunkAt: null, ...usage };
}

/** The row of a run without an answer; its cost is not known. */
function brokenPart(error: unknown): HarnessCallResult {
  const isStopped = error instanceof TurnStopped;
  const code = isStopped ? callCodeOf(error.reason) : 'harness_failed';
  const message = error instanceof Error ? error.message : String(error);
  return {
    status: isStopped ? 'aborted' : 'failed',
    stopReason: null,
    responseId: null,
    error: { code, message: message.slice(0, 2000) },
    requestSha256: null,
    firstChunkAt: null,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  };
}

function targetOf({ provider, model }: RequestBase): { provider: string; model: string } {
  return { provider: provider ?? DEFAULT_PROVIDER, model };
}

function missing(id: string): TurnFailed {
  return new TurnFailed(
    'harness_missing',
    `The harness "${id}" answers this turn, and no plugin of this worker provides it.`,
  );
}
