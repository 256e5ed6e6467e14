// An answer that has to be JSON of a schema. One that does not fit is asked for once more, with the faults in words: that message is committed with the
// answer, so a worker that resumes the turn finds it and asks no third time.
import { joinText } from '../../../core/content.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import { withoutReasoning } from '../../../core/reasoning-tags.ts';
import { checkOutput, type CheckedOutput } from '../../../model/check-output.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { buildReplyRules } from '../reply-rules.ts';
import { newEntry, NO_ROWS, type TurnWrite } from '../turn-write.ts';
import { continuedText } from './paused-answer.ts';

const START = '[holdfast] Your answer does not fit the JSON schema that it must have';

/** The last answer of a turn, checked; null: its text may be anything. */
export async function checkAnswer(
  context: TurnContext,
  turn: OpenedTurn,
  answer: ModelAnswer,
): Promise<CheckedOutput | null> {
  const { responseFormat } = turn.journal.attempt.request;
  if (responseFormat === undefined) return null;
  const said = continuedText(turn.transcript.entries, joinText(answer.content));
  return await checkOutput(
    buildReplyRules(context, turn).hasReasoningTags ? withoutReasoning(said) : said,
    responseFormat,
  );
}

/** What is stored with an answer that the model is asked to correct; null: it ends the turn. */
export async function correctionWrite(
  context: TurnContext,
  turn: OpenedTurn,
  answer: ModelAnswer,
): Promise<TurnWrite | null> {
  const { stopReason } = answer;
  if (stopReason !== 'end_turn' && stopReason !== 'stop_sequence') return null;
  const checked = await checkAnswer(context, turn, answer);
  if (checked === null || checked.kind === 'fits' || !mayAskAgain(turn)) return null;
  const text = `${START}: ${checked.faults.join('; ')}. Give the whole answer again, as JSON that fits.`;
  return { ...NO_ROWS, entries: [newEntry('steer', 'user', [{ type: 'text', text }])] };
}

function mayAskAgain({ agent, journal, transcript }: OpenedTurn): boolean {
  const { promptSeq } = journal.attempt.requests.rules;
  const isCorrected = transcript.entries.some(
    ({ seq, kind, content }) => seq > promptSeq && kind === 'steer' && joinText(content).startsWith(START),
  );
  return !isCorrected && journal.at.progress.steps + 1 < agent.maxSteps;
}
