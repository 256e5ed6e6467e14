// Repairs the tool calls of an answer: their names, their ids and their arguments. Each is a step
// of the reducer (reduce-answer.ts), which notes what it has changed.
import { cutHead, storableText, changeTexts, storableValue } from '../../core/text.ts';
import {
  listCalls,
  changeCalls,
  endWithNote,
  noteRepair,
  type AnswerRules,
  type DraftAnswer,
  type DraftCall,
} from './draft-answer.ts';
import { listToolUses, changeContent, changeEach, isThinking, mendThought } from '../../core/content.ts';
import type { ModelMessage } from '../../core/model-request.ts';
import { isCallId, giveCallId, type CallIdForm } from '../../history/provider-family.ts';
import { isObject, parseExactly } from '../../core/json.ts';
import { isCut } from './stop-reasons.ts';

// Which tool a model meant. Names arrive with spaces, in other letter case, with the prefix of a
// provider or an index (`functions.read:3`), or not at all; the call's id then often holds the
// name. Only a tool that the model was given is ever found: a name that leads nowhere stays, in a
// form that providers accept. A model that calls such a tool again and again is stopped; the
// attempts are read from the messages, so they also count after a restart.

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
        findTool(call.name) ?? (call.name.trim() === '' ? findTool(call.wireId) : null) ?? acceptableName(call.name);
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

/**
 * Without `functions_`, `tool-` and similar prefixes, and without a counter after it
 * (`functions_read_3`).
 */
function unprefixed(name: string): string[] {
  const short = name.replace(/^(?:functions?|tools?|call)[._:-]?/i, '');
  return [short, short.replace(COUNTER, ''), name.replace(COUNTER, '')];
}

/** A name that a transcript may hold. */
function acceptableName(written: string): string {
  const name = cutHead(written.trim().replace(/[^a-zA-Z0-9_-]/g, '_'), NAME_CHARS_MAX);
  return name === '' ? UNNAMED : name;
}

/**
 * Step: at the threshold, the answer becomes a text that says that the tool is not there, and the
 * turn ends with it.
 */
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

/**
 * How many answers in a row, the last of these messages, called this unknown tool. A user message
 * ends the series.
 */
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

/**
 * The unknown tools that these calls name; none when one of them is known: such an answer gets
 * somewhere.
 */
function findUnknownTools(calls: readonly { name: string }[], known: ReadonlySet<string>): string[] {
  return calls.some((call) => known.has(call.name)) ? [] : [...new Set(calls.map((call) => call.name))];
}

// Ids of calls: results, the ledger and the idempotency key of a tool run hang on them, so each
// call of a conversation has one of its own, in characters that providers take back. The id that
// the provider gave is kept beside it, where requests would have another one.

const ID_CHARS_MAX = 200;
/** How far apart the ids of two calls for the model are, so that those of one turn never meet. */
const IDS_PER_CALL = 1000;
const ACCEPTABLE = /^[a-zA-Z0-9_-]{1,200}$/;
const QUESTIONS_ASKED_ONE_BY_ONE = 8;

/** Step: a call without an id, or with one that is taken, gets `call_auto_N`. */
export function giveCallIds(answer: DraftAnswer, rules: AnswerRules): DraftAnswer {
  const { messages, callNo, author } = rules;
  if (listCalls(answer).length === 0) return answer;
  const given = new Set<string>();
  const isTaken = takenIn(messages, listCalls(answer).length);
  let next = (callNo - 1) * IDS_PER_CALL + 1;
  const named = changeCalls(
    answer,
    (call) => {
      let id = acceptableId(call.id);
      while (id === '' || given.has(id) || isTaken(id)) id = `call_auto_${next++}`;
      given.add(id);
      return id === call.id ? call : { ...call, id };
    },
    (before, after) => ({ step: 'call-ids', callId: after.id, was: before.id }),
  );
  return changeCalls(named, (call) => keepProviderId(call, author));
}

/**
 * The call with the id that its provider gave it, where a request would not have that, and where it
 * is not too long to be kept.
 */
function keepProviderId(call: DraftCall, { callIds, provider, model }: AnswerRules['author']): DraftCall {
  const { id, wireId } = call;
  if (wireId === '' || (wireId === id && isCallId(id, callIds))) return call;
  if (Buffer.byteLength(wireId) > PROVIDER_ID_BYTES_MAX || storableText(wireId) !== wireId) return call;
  return { ...call, origin: { provider, model, metadata: {}, ...call.origin, callId: wireId } };
}

function acceptableId(id: string): string {
  if (ACCEPTABLE.test(id)) return id;
  return cutHead(id.trim().replace(/[^a-zA-Z0-9_-]/g, '_'), ID_CHARS_MAX);
}

/**
 * Whether a call in these messages has an id. For a few questions looking is cheaper than
 * collecting.
 */
function takenIn(messages: readonly ModelMessage[], questions: number): (id: string) => boolean {
  if (questions > QUESTIONS_ASKED_ONE_BY_ONE) {
    const ids = new Set(messages.flatMap(({ content }) => listToolUses(content).map(({ id }) => id)));
    return (id) => ids.has(id);
  }
  return (id) =>
    messages.some(
      ({ role, content }) =>
        role === 'assistant' && content.some((block) => block.type === 'tool_use' && block.id === id),
    );
}

// The ids of calls as their provider gave them, for the requests in which it gets them back: some
// have more in them than an id (a signature of Gemini's, by way of LiteLLM). Everywhere else a call
// has an id of ours. The history keeps the provider's for the model that gave it alone (G34).

/** The longest id of a provider that is kept, in bytes. */
export const PROVIDER_ID_BYTES_MAX = 8_192;

/**
 * The messages with these ids. One that an earlier call of the same request has stays away: that
 * call has ours, in the form that the provider takes. An id depends on the calls before it alone,
 * so it is the same in every request of a conversation. The same list when no call has one.
 */
export function withProviderIds(messages: readonly ModelMessage[], form: CallIdForm): readonly ModelMessage[] {
  if (!messages.some(({ content }) => content.some((block) => providerIdOf(block) !== undefined))) return messages;
  const used = new Set<string>();
  const ids = new Map<string, string>();
  return messages.map((message) =>
    changeContent(message, (block) => {
      if (block.type === 'tool_use') {
        const wanted = providerIdOf(block);
        const id = wanted !== undefined && !used.has(wanted) ? wanted : giveCallId(block.id, form, used);
        used.add(id);
        ids.set(block.id, id);
        return id === block.id ? block : { ...block, id };
      }
      if (block.type !== 'tool_result') return block;
      const id = ids.get(block.tool_use_id) ?? block.tool_use_id;
      return id === block.tool_use_id ? block : { ...block, tool_use_id: id };
    }),
  );
}

function providerIdOf(block: ModelMessage['content'][number]): string | undefined {
  return block.type === 'tool_use' ? block.origin?.callId : undefined;
}

// The arguments of calls: read as JSON, decoded where the provider encodes them, put right where
// they can be. A call whose arguments cannot be read keeps its place with `{}` and is never run;
// the model gets an error result and can correct itself.

/** Step: arguments that are a JSON object are read; a call without any has none to give. */
export function readArguments(answer: DraftAnswer): DraftAnswer {
  return changeCalls(answer, (call) => {
    if (call.input !== null) return call;
    return call.raw === '' ? { ...call, input: {} } : withInput(call, parse(call.raw));
  });
}

/**
 * Step: the entities in every text of the arguments are decoded. JSON that has its own quotes
 * encoded is read only now.
 */
export function decodeArguments(answer: DraftAnswer, { decodeText }: AnswerRules): DraftAnswer {
  if (decodeText === null) return answer;
  return changeCalls(answer, (call) => {
    if (call.input === null) return call.raw.includes('&') ? withInput(call, parse(decodeText(call.raw))) : call;
    const input = changeTexts(call.input, decodeText);
    return input === call.input ? call : withInput(call, input);
  });
}

/** Step: arguments that are almost JSON are repaired, and the original is recorded. */
export function repairArguments(answer: DraftAnswer, rules: AnswerRules): DraftAnswer {
  const { decodeText } = rules;
  return changeCalls(
    answer,
    (call) => {
      if (call.input !== null) return call;
      const input = rules.repairArguments(call.raw);
      return withInput(call, decodeText === null ? input : changeTexts(input, decodeText));
    },
    (before, after) => ({ step: 'repair-arguments', callId: after.id, was: before.raw }),
  );
}

/**
 * Step: no argument, no thought and no call has half a character or a NUL. Arguments with a NUL
 * cannot be read: without it, they would be another command or another file. A thought that is
 * changed is no longer the signed one.
 */
export function keepWholeCharacters(answer: DraftAnswer): DraftAnswer {
  const mended = changeCalls(
    answer,
    (call) => (hasNul(call.input) ? { ...storableValue(call), input: null } : storableValue(call)),
    (before, after) => ({ step: 'whole-characters', callId: after.id, was: before.raw }),
  );
  const blocks = changeEach(mended.blocks, (block) => (isThinking(block) ? mendThought(block) : block));
  return blocks === mended.blocks ? mended : { ...mended, blocks };
}

/** Step: what could not be read is marked, and a call that may have been cut. */
export function markMalformed(answer: DraftAnswer, rules: AnswerRules): DraftAnswer {
  const cut = findCutCall(answer, rules);
  const unread = listCalls(answer).filter((call) => call.input === null || call === cut);
  if (unread.length === 0) return answer;
  const marked = changeCalls(answer, (call) => (unread.includes(call) ? { ...call, input: {} } : call));
  return { ...marked, malformedInputs: Object.fromEntries(unread.map((call) => [call.id, call.raw])) };
}

/**
 * The last call of an answer that was cut, unless its arguments are whole JSON: only then it is
 * known that its block was complete.
 */
function findCutCall({ blocks, wireStopReason }: DraftAnswer, { decodeText }: AnswerRules): DraftCall | null {
  const last = blocks.at(-1);
  if (last?.type !== 'tool_use' || !isCut(wireStopReason)) return null;
  return isObject(parse(last.raw)) || isObject(parse(decodeText?.(last.raw) ?? '')) ? null : last;
}

function hasNul(input: DraftCall['input']): boolean {
  return changeTexts(input, (text) => text.replaceAll('\0', '')) !== input;
}

function withInput(call: DraftCall, value: unknown): DraftCall {
  return isObject(value) ? { ...call, input: value } : call;
}

function parse(raw: string): unknown {
  try {
    return parseExactly(raw);
  } catch {
    return null;
  }
}
