// The guard against a model that calls a tool that does not exist, gets an error, and calls it again. The attempts are read from
// the messages, so they are also counted after a restart.
import type { ContentBlock } from '../content.ts';
import type { ModelMessage } from '../model-request.ts';
import type { AnswerRules, DraftAnswer } from './draft-answer.ts';
import { callsOf, endWithNote, noteRepair } from './draft-answer.ts';

/** Step: at the threshold, the answer becomes a text that says that the tool is not there, and the turn ends with it. */
export function endUnknownTools(answer: DraftAnswer, rules: AnswerRules): DraftAnswer {
  const { messages, tools, unknownToolThreshold: threshold } = rules;
  const calls = callsOf(answer);
  if (threshold === 0 || calls.every((call) => tools.some(({ name }) => name === call.name))) return answer;
  const known = new Set(tools.map(({ name }) => name));
  const tried = unknownToolsOf(calls, known);
  const name = tried.find((each) => 1 + strikesOf(messages, each, known) >= threshold);
  if (name === undefined) return answer;
  const note =
    `The tool "${name}" is not available here, so calling it again has no effect. ` +
    'I stop here. Please tell me how to continue without it.';
  return noteRepair(endWithNote(answer, note, 'end_turn'), { step: 'unknown-tools', callId: null, was: name });
}

/** How many answers in a row, the last of these messages, called this unknown tool. A user message ends the series. */
function strikesOf(messages: readonly ModelMessage[], name: string, known: ReadonlySet<string>): number {
  let strikes = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined) break;
    if (message.role === 'user') {
      if (message.content.every((block) => block.type === 'tool_result')) continue;
      break;
    }
    if (!unknownToolsOf(message.content.filter(isCall), known).includes(name)) break;
    strikes += 1;
  }
  return strikes;
}

/** The unknown tools that these calls name; none when one of them is known: such an answer gets somewhere. */
function unknownToolsOf(calls: readonly { name: string }[], known: ReadonlySet<string>): string[] {
  return calls.some((call) => known.has(call.name)) ? [] : [...new Set(calls.map((call) => call.name))];
}

function isCall(block: ContentBlock): block is Extract<ContentBlock, { type: 'tool_use' }> {
  return block.type === 'tool_use';
}
