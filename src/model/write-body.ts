// Writes the body of a request as JSON. The objects of a conversation are the same from call to call, so the bytes of what was written
// before are kept, and of a request that grew only what is new is written. What comes out is `JSON.stringify(toWireRequest(request))`
// in UTF-8, byte for byte.
import type { ModelMessage, ModelRequest } from '../core/model-request.ts';
import { toWireRequest, type WireRequest } from './wire-request.ts';

/** The messages that a conversation began with when it was written last, and their bytes. */
interface Written {
  messages: WireRequest['messages'];
  chunks: Buffer[];
}

/** More chunks than this become one. */
const CHUNKS_MAX = 32;

/** By the first message. An entry goes with it, when nobody holds the conversation any more. */
const conversations = new WeakMap<object, Written>();

/** System prompts and lists of tools, which many requests share. */
const shared = new WeakMap<object, Buffer>();

const COMMA = Buffer.from(',');
const TOOLS = Buffer.from(',"tools":');
const SYSTEM = Buffer.from(',"system":');
const MESSAGES = Buffer.from(',"messages":[');
const END = Buffer.from(']}');

/** The body of `POST /v1/messages` as it is sent. */
export function writeBody(request: ModelRequest, options: { isStreaming?: boolean } = {}): Buffer {
  const { tools, system, messages, ...rest } = toWireRequest(request, options);
  return Buffer.concat([
    Buffer.from(JSON.stringify(rest).slice(0, -1)),
    ...(tools === undefined ? [] : [TOOLS, writeShared(tools)]),
    ...(system === undefined ? [] : [SYSTEM, writeShared(system)]),
    MESSAGES,
    ...writeMessages(request.messages, messages),
    END,
  ]);
}

function writeShared(value: object): Buffer {
  let bytes = shared.get(value);
  if (bytes === undefined) shared.set(value, (bytes = Buffer.from(JSON.stringify(value))));
  return bytes;
}

function writeMessages(own: readonly ModelMessage[], wire: WireRequest['messages']): Buffer[] {
  const [first] = own;
  if (first === undefined) return [];
  const known = conversations.get(first);
  const isGrown = known !== undefined && startsWith(wire, known.messages);
  const knownCount = isGrown ? known.messages.length : 0;
  // Messages with a cache marker are copies, made for this request alone: what comes before the first of them will come again.
  const markedAt = wire.findIndex((message, at) => message !== own[at]);
  const settledCount = markedAt === -1 ? wire.length : markedAt;
  let chunks = isGrown ? known.chunks : [];
  if (settledCount > knownCount) {
    chunks = [...chunks, ...commaBetween(chunks), joined(wire.slice(knownCount, settledCount))];
    if (chunks.length > CHUNKS_MAX) chunks = [Buffer.concat(chunks)];
    conversations.set(first, { messages: wire.slice(0, settledCount), chunks });
  }
  if (settledCount === wire.length) return chunks;
  return [...chunks, ...commaBetween(chunks), joined(wire.slice(settledCount))];
}

function commaBetween(before: readonly Buffer[]): Buffer[] {
  return before.length === 0 ? [] : [COMMA];
}

function joined(messages: WireRequest['messages']): Buffer {
  return Buffer.from(messages.map((message) => JSON.stringify(message)).join(','));
}

function startsWith(messages: readonly object[], start: readonly object[]): boolean {
  return start.length <= messages.length && start.every((message, at) => message === messages[at]);
}
