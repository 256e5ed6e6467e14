// Who gives the next answer of a turn. The built-in harness calls the model; a plugin's harness is called instead of it, and its answers are
// committed by the same journal.
import { cutHead, storableText } from '../../../core/text.ts';
import { BUILT_IN_HARNESS } from '../../../core/harness-selection.ts';
import { toMicros } from '../../../core/prices/call-cost.ts';
import { HarnessError, type CheckedHarness } from '../../../plugins/harness.ts';
import { askModel } from './ask-model.ts';
import type { AnsweredCall } from '../turn-write.ts';
import { beginCall, nextRequest } from './begin-call.ts';
import type { TurnContext } from '../context.ts';
import { createInputTransform } from '../input-transform.ts';
import { abortedBy, CallRecord, type BrokenCall } from '../model-call.ts';
import { harnessTarget, missingHarness } from '../open/choose-harness.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnFailed, TurnStopped } from '../turn-stop.ts';

/** The next answer of a turn, from its harness. Throws as `askModel` does. */
export async function nextAnswer(context: TurnContext, turn: OpenedTurn): Promise<AnsweredCall> {
  const id = turn.journal.attempt.requests.rules.view.harness?.id ?? BUILT_IN_HARNESS;
  if (id === BUILT_IN_HARNESS) {
    for (const { ask } of context.features) {
      const answered = await ask?.(context, turn);
      if (answered) return answered;
    }
    return await askModel(context, turn);
  }
  const harness = context.plugins.harnesses.find((one) => one.id === id);
  if (harness === undefined) throw missingHarness(id);
  return await askHarness(context, turn, harness);
}

async function askHarness(context: TurnContext, turn: OpenedTurn, harness: CheckedHarness): Promise<AnsweredCall> {
  await beginCall(context, turn, 'harness');
  const { messages, callView } = nextRequest(turn);
  const { request, requests } = turn.journal.attempt;
  const callNo = turn.journal.at.progress.calls;
  const record = new CallRecord(context, turn, { callNo, view: callView, model: request });
  const target = { sessionId: turn.session.id, epoch: turn.held.epoch, turnId: turn.id };
  const sent = createInputTransform(requests.rules.view)({ system: request.system, messages: [...messages] });
  try {
    const reading = await harness.run({
      ...harnessTarget(request),
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
      onText: (text) => context.deltas.add(target, { type: 'model.delta', data: { call: callNo, text } }),
    });
    const { content, stopReason, usage, costUsd } = reading;
    const answer = { id: `harness_${turn.id}_${callNo}`, model: request.model, content, stopReason, usage };
    return { answer, call: record.ended({ answer }, { costMicros: costUsd === null ? null : toMicros(costUsd) }) };
  } catch (error) {
    turn.journal.note({ unstoredCall: record.ended(brokenBy(error), { costMicros: null }) });
    if (!(error instanceof HarnessError)) throw error;
    throw new TurnFailed(error.code, error.message, error);
  }
}

function brokenBy(error: unknown): BrokenCall {
  if (error instanceof TurnStopped) return abortedBy(error.reason);
  const message = error instanceof Error ? error.message : String(error);
  return { status: 'failed', error: { code: 'harness_failed', message: cutHead(storableText(message), 2000) } };
}
