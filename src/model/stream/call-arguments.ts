// The arguments of calls: read as JSON, decoded where the provider encodes them, put right where they can be. A call whose
// arguments cannot be read keeps its place with `{}` and is never run; the model gets an error result and can correct itself.
import type { AnswerRules, DraftAnswer, DraftCall } from './draft-answer.ts';
import { changeTexts, storableValue } from '../../core/text.ts';
import { changeEach, isThinking, mendThought } from '../../core/content.ts';
import { isObject } from '../../core/given.ts';
import { listCalls, changeCalls } from './draft-answer.ts';
import { parseExactly } from '../../core/parse-exactly.ts';
import { isCut } from './stop-reasons.ts';

/** Step: arguments that are a JSON object are read; a call without any has none to give. */
export function readArguments(answer: DraftAnswer): DraftAnswer {
  return changeCalls(answer, (call) => {
    if (call.input !== null) return call;
    return call.raw === '' ? { ...call, input: {} } : withInput(call, parse(call.raw));
  });
}

/** Step: the entities in every text of the arguments are decoded. JSON that has its own quotes encoded is read only now. */
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
 * Step: no argument, no thought and no call has half a character or a NUL. Arguments with a NUL cannot be read: without it, they would be
 * another command or another file. A thought that is changed is no longer the signed one.
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

/** The last call of an answer that was cut, unless its arguments are whole JSON: only then it is known that its block was complete. */
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
