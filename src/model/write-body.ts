// Writes the body of a request as JSON. The messages of a conversation are the same objects from call to call, so the text of those
// that were written before is kept, and of a request that grew only what is new is written: the text of a long conversation costs
// milliseconds. What comes out is `JSON.stringify(toWireRequest(request))`, byte for byte.
import type { ModelMessage, ModelRequest } from '../core/model-request.ts';
import { toWireRequest, type WireRequest } from './wire-request.ts';

/** Shorter conversations are written anew: that costs less than keeping their text. In UTF-16 units of JSON. */
const KEPT_CHARS_MIN = 100_000;

/** The messages that a conversation began with when it was written last, and their text. */
interface Written {
  messages: readonly WireRequest['messages'][number][];
  text: string;
}

/** By the first message. An entry goes with it, when nobody holds the conversation any more. */
const written = new WeakMap<object, Written>();

/** The body of `POST /v1/messages` as it is sent. */
export function writeBody(request: ModelRequest, options: { isStreaming?: boolean } = {}): string {
  const { messages, ...rest } = toWireRequest(request, options);
  // Messages come last in the body: what is before them is written as a whole, without its closing brace.
  return `${JSON.stringify(rest).slice(0, -1)},"messages":[${writeMessages(request.messages, messages)}]}`;
}

function writeMessages(own: readonly ModelMessage[], wire: WireRequest['messages']): string {
  const [first] = own;
  if (first === undefined) return '';
  const known = written.get(first);
  const knownCount = known !== undefined && startsWith(wire, known.messages) ? known.messages.length : 0;
  // Messages with a cache marker are copies, made for this request alone: what comes before the first of them will come again.
  const markedAt = wire.findIndex((message, at) => message !== own[at]);
  const settledCount = markedAt === -1 ? wire.length : markedAt;
  const text = joined(knownCount === 0 ? '' : (known?.text ?? ''), wire.slice(knownCount, settledCount));
  if (settledCount > knownCount && text.length >= KEPT_CHARS_MIN) {
    written.set(first, { messages: wire.slice(0, settledCount), text });
  }
  return joined(text, wire.slice(settledCount));
}

function joined(text: string, messages: WireRequest['messages']): string {
  if (messages.length === 0) return text;
  const rest = messages.map(write).join(',');
  return text === '' ? rest : `${text},${rest}`;
}

function startsWith(messages: readonly object[], start: readonly object[]): boolean {
  return start.length <= messages.length && start.every((message, at) => message === messages[at]);
}

function write(message: object): string {
  return JSON.stringify(message);
}
