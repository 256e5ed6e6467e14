// The arguments of calls: read as JSON, decoded where the provider encodes them, put right where they can be. A call whose
// arguments cannot be read keeps its place with `{}` and is never run; the model gets an error result and can correct itself.
import type { AnswerRules, DraftAnswer, DraftCall } from './draft-answer.ts';
import { callsOf, changeCalls, isObject } from './draft-answer.ts';
import { parseExactly } from '../parse-exactly.ts';

/** Step: arguments that are a JSON object are read; a call without any has none to give. */
export function readArguments(answer: DraftAnswer): DraftAnswer {
  return changeCalls(
    answer,
    (call) => {
      if (call.input !== null) return call;
      return call.raw === '' ? { ...call, input: {} } : withInput(call, parse(call.raw));
    },
    () => null,
  );
}

/** Step: the entities in every text of the arguments are decoded. JSON that has its own quotes encoded is read only now. */
export function decodeArguments(answer: DraftAnswer, { decodeText }: AnswerRules): DraftAnswer {
  if (decodeText === null) return answer;
  return changeCalls(
    answer,
    (call) => {
      if (call.input === null) return call.raw.includes('&') ? withInput(call, parse(decodeText(call.raw))) : call;
      const input = decodeDeep(call.input, decodeText, 0);
      return input === call.input ? call : withInput(call, input);
    },
    () => null,
  );
}

/** Step: arguments that are almost JSON are repaired, and the original is recorded. */
export function repairArguments(answer: DraftAnswer, rules: AnswerRules): DraftAnswer {
  const { decodeText } = rules;
  return changeCalls(
    answer,
    (call) => {
      if (call.input !== null) return call;
      const input = rules.repairArguments(call.raw);
      return withInput(call, decodeText === null ? input : decodeDeep(input, decodeText, 0));
    },
    (before, after) => ({ step: 'repair-arguments', callId: after.id, was: before.raw }),
  );
}

/** Step: what could not be read is marked. */
export function markMalformed(answer: DraftAnswer): DraftAnswer {
  const unread = callsOf(answer).filter((call) => call.input === null);
  if (unread.length === 0) return answer;
  const marked = changeCalls(
    answer,
    (call) => (call.input === null ? { ...call, input: {} } : call),
    () => null,
  );
  return { ...marked, malformedInputs: Object.fromEntries(unread.map((call) => [call.id, call.raw])) };
}

/** Deeper than this nothing is decoded: such arguments do not occur. */
const DECODED_DEPTH_MAX = 64;

/** The value with every text in it decoded, keys too; the same object when there is nothing to decode. */
function decodeDeep(value: unknown, decodeText: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return value.includes('&') ? decodeText(value) : value;
  if (typeof value !== 'object' || value === null || depth > DECODED_DEPTH_MAX) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => decodeDeep(item, decodeText, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]): [string, unknown] => [
    key.includes('&') ? decodeText(key) : key,
    decodeDeep(item, decodeText, depth + 1),
  ]);
  const isSame = after.every(([key, item], at) => key === before[at]?.[0] && item === before[at]?.[1]);
  return isSame ? value : Object.fromEntries(after);
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
