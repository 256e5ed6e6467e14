// Ids of calls: results, the ledger and the idempotency key of a tool run hang on them, so each call of a conversation has one of its
// own, in characters that providers take back. The id that the provider gave is kept beside it, where requests would have another one.
import { cutHead, storableText } from '../../core/text.ts';
import type { ModelMessage } from '../../core/model-request.ts';
import { isCallId } from '../../history/provider-family.ts';
import { PROVIDER_ID_BYTES_MAX } from './provider-call-ids.ts';
import type { AnswerRules, DraftAnswer, DraftCall } from './draft-answer.ts';
import { listCalls, changeCalls } from './draft-answer.ts';
import { listToolUses } from '../../core/content.ts';

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
      let id = acceptable(call.id);
      while (id === '' || given.has(id) || isTaken(id)) id = `call_auto_${next++}`;
      given.add(id);
      return id === call.id ? call : { ...call, id };
    },
    (before, after) => ({ step: 'call-ids', callId: after.id, was: before.id }),
  );
  return changeCalls(named, (call) => keepProviderId(call, author));
}

/** The call with the id that its provider gave it, where a request would not have that, and where it is not too long to be kept. */
function keepProviderId(call: DraftCall, { callIds, provider, model }: AnswerRules['author']): DraftCall {
  const { id, wireId } = call;
  if (wireId === '' || (wireId === id && isCallId(id, callIds))) return call;
  if (Buffer.byteLength(wireId) > PROVIDER_ID_BYTES_MAX || storableText(wireId) !== wireId) return call;
  return { ...call, origin: { provider, model, metadata: {}, ...call.origin, callId: wireId } };
}

function acceptable(id: string): string {
  if (ACCEPTABLE.test(id)) return id;
  return cutHead(id.trim().replace(/[^a-zA-Z0-9_-]/g, '_'), ID_CHARS_MAX);
}

/** Whether a call in these messages has an id. For a few questions looking is cheaper than collecting. */
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
