// Which tool a model meant. Names arrive with spaces, in other letter case, with the prefix of a provider or an index
// (`functions.read:3`), or not at all; the call's id then often holds the name. Only a tool that the model was given is ever found: a
// name that leads nowhere stays, in a form that providers accept.
// A model that calls such a tool again and again is stopped; the attempts are read from the messages, so they also count after a restart.
import { cutHead } from '../../core/text.ts';
import { listCalls, changeCalls, endWithNote, noteRepair, type AnswerRules, type DraftAnswer } from './draft-answer.ts';
import { listToolUses } from '../../core/content.ts';
import type { ModelMessage } from '../../core/model-request.ts';

/** Longer names are not repaired. */
const NAME_CHARS_SEARCHED = 256;
/** Providers take names of up to 64 characters in their tools. */
const NAME_CHARS_MAX = 64;
const UNNAMED = 'unnamed_tool';

/** Step: every call gets the name of the tool that it means. */
export function nameTools(answer: DraftAnswer, { tools }: AnswerRules): DraftAnswer {
  // Nearly always all names are right, and there is nothing to be found.
  if (listCalls(answer).every((call) => tools.some(({ name }) => name === call.name))) return answer;
  const findTool = createToolFinder(tools.map(({ name }) => name));
  return changeCalls(
    answer,
    (call) => {
      const name =
        findTool(call.name) ?? (call.name.trim() === '' ? findTool(call.wireId) : null) ?? acceptable(call.name);
      return name === call.name ? call : { ...call, name };
    },
    (before, after) => ({ step: 'tool-names', callId: after.id, was: before.name }),
  );
}

/** A function from the model's spelling to the name of the tool; null when it matches none. */
export function createToolFinder(names: readonly string[]): (written: string) => string | null {
  const exact = new Set(names);
  const byLowerCase = new Map(names.map((name) => [name.toLowerCase(), name]));
  return (written) => {
    if (exact.has(written)) return written;
    if (written.length > NAME_CHARS_SEARCHED) return null;
    for (const candidate of listCandidates(written)) {
      const found = exact.has(candidate) ? candidate : byLowerCase.get(candidate.toLowerCase());
      if (found !== undefined) return found;
    }
    return null;
  };
}

/** The candidates for a name without its prefixes and suffixes, the least changed first. */
function listCandidates(written: string): string[] {
  // Some models leave their own tokens after the name: `read<|channel|>json`.
  const whole = (written.split('<|')[0] ?? '').trim();
  const bare = whole.replace(/^\W+|(?<!\W)\W+$/g, '');
  const withoutIndex = bare.replace(/[:.#]\d+$/, '');
  const segments = withoutIndex.split(/[.:/]|__/).filter((segment) => segment !== '');
  const last = segments.at(-1) ?? '';
  return [whole, bare, withoutIndex, last, ...unprefixed(withoutIndex), ...unprefixed(last)].filter(
    (candidate) => candidate !== '',
  );
}

const COUNTER = /(?:[_-]|(?<![\d_-]))\d+$/;

/** Without `functions_`, `tool-` and similar prefixes, and without a counter after it (`functions_read_3`). */
function unprefixed(name: string): string[] {
  const short = name.replace(/^(?:functions?|tools?|call)[._:-]?/i, '');
  return [short, short.replace(COUNTER, ''), name.replace(COUNTER, '')];
}

/** A name that a transcript may hold. */
function acceptable(written: string): string {
  const name = cutHead(written.trim().replace(/[^a-zA-Z0-9_-]/g, '_'), NAME_CHARS_MAX);
  return name === '' ? UNNAMED : name;
}

/** Step: at the threshold, the answer becomes a text that says that the tool is not there, and the turn ends with it. */
export function endUnknownTools(answer: DraftAnswer, rules: AnswerRules): DraftAnswer {
  const { messages, tools, unknownToolThreshold: threshold } = rules;
  const calls = listCalls(answer);
  if (threshold === 0 || calls.every((call) => tools.some(({ name }) => name === call.name))) return answer;
  const known = new Set(tools.map(({ name }) => name));
  const tried = findUnknownTools(calls, known);
  const name = tried.find((each) => 1 + countStrikes(messages, each, known) >= threshold);
  if (name === undefined) return answer;
  const note =
    `The tool "${name}" is not available here, so calling it again has no effect. ` +
    'I stop here. Please tell me how to continue without it.';
  return noteRepair(endWithNote(answer, note, 'end_turn'), { step: 'unknown-tools', callId: null, was: name });
}

/** How many answers in a row, the last of these messages, called this unknown tool. A user message ends the series. */
function countStrikes(messages: readonly ModelMessage[], name: string, known: ReadonlySet<string>): number {
  let strikes = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined) break;
    if (message.role === 'user') {
      if (message.content.every((block) => block.type === 'tool_result')) continue;
      break;
    }
    if (!findUnknownTools(listToolUses(message.content), known).includes(name)) break;
    strikes += 1;
  }
  return strikes;
}

/** The unknown tools that these calls name; none when one of them is known: such an answer gets somewhere. */
function findUnknownTools(calls: readonly { name: string }[], known: ReadonlySet<string>): string[] {
  return calls.some((call) => known.has(call.name)) ? [] : [...new Set(calls.map((call) => call.name))];
}
