// What a turn makes of an answer: whether it fits its schema, whether the provider has only paused
// it, and which of its text is a reply.
import { NO_ROWS, newEntry, type TurnWrite } from '../position.ts';
import { joinText } from '../../../core/content.ts';
import type { ModelAnswer } from '../../../core/model-request.ts';
import { withoutReasoning, toReasoning, type ReplyRules } from '../../../core/reply.ts';
import { checkOutput, type CheckedOutput } from '../../../model/check-output.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import type { ViewEntry } from '../../../history/past.ts';
import type { WaitingInput } from '../../sessions/claim-session.ts';

// An answer that has to be JSON of a schema. One that does not fit is asked for once more, with the
// faults in words: that message is committed with the answer, so a worker that resumes the turn
// finds it and asks no third time.

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

// An answer that the provider has paused (`pause_turn`): the model is asked to continue it, with a
// message of Holdfast, since not every model takes a request that ends with an answer.

const CONTINUE = '[holdfast] The provider paused your answer. Continue it from where it ends.';

/** What is stored after a paused answer. */
export function pausedWrite(): TurnWrite {
  return { ...NO_ROWS, entries: [newEntry('steer', 'user', [{ type: 'text', text: CONTINUE }])] };
}

/** The text of an answer after these entries, with that of the paused answers that it continues. */
export function continuedText(entries: readonly ViewEntry[], text: string): string {
  const texts = [text];
  for (let at = entries.length - 1; at > 0; at -= 2) {
    const [paused, note] = [entries[at - 1], entries[at]];
    if (paused?.kind !== 'answer' || note?.kind !== 'steer' || joinText(note.content) !== CONTINUE) break;
    texts.unshift(joinText(paused.content));
  }
  return texts.filter((part) => part !== '').join('\n');
}

// The rules that decide which text of an answer is a reply, both in the live stream and in the
// reply with which the turn is settled.

export function buildReplyRules(
  { config }: Pick<TurnContext, 'config'>,
  { agent, journal }: Pick<OpenedTurn, 'agent' | 'journal'>,
): ReplyRules {
  return {
    hasReasoningTags: config.reasoning.enabled,
    heartbeatAckCharsMax: answersOnlyPoll(journal.at.inputs) ? agent.heartbeat.ackMaxChars : null,
  };
}

/**
 * True for a turn that answers only a heartbeat: a message that joined it needs an answer like any
 * other.
 */
export function answersOnlyPoll(inputs: readonly Pick<WaitingInput, 'kind'>[]): boolean {
  return inputs.length > 0 && inputs.every(({ kind }) => kind === 'heartbeat');
}

/**
 * True for a turn whose live events show what its model thinks. Polls leave no trace, so theirs do
 * not.
 */
export function showsReasoning({ session, journal }: Pick<OpenedTurn, 'session' | 'journal'>): boolean {
  return toReasoning(session.reasoning) === 'stream' && !answersOnlyPoll(journal.at.inputs);
}

/**
 * True for a turn whose reply begins with what its model thought. An alert has its own form, and a
 * subagent answers its parent.
 */
export function repliesWithReasoning({ session, journal }: Pick<OpenedTurn, 'session' | 'journal'>): boolean {
  return toReasoning(session.reasoning) === 'on' && session.kind !== 'subagent' && !answersOnlyPoll(journal.at.inputs);
}
