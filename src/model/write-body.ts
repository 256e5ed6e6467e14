// The body of a request to the Messages API, as bytes. What later requests have, too, is written once: tools, system prompt, and the beginning of a
// conversation (decision 122). Its objects never change, and its bytes are dropped with them. What is not an object of the request itself was made for
// one body and is not kept: a message with a cache breakpoint, which moves, or a tool whose schema had to be changed.
import type { ModelMessage, ModelRequest } from '../core/model-request.ts';
import { toWireRequest } from './wire-request.ts';

/** When more bytes were written, all that are kept are dropped. Those whose objects are gone count, too, so it is an upper limit. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

/** The first messages of a conversation, and their JSON with commas between them, which grows by a piece with each request. */
interface Beginning {
  messages: ModelMessage[];
  pieces: Uint8Array[];
  /** How many messages there are up to the end of each piece. */
  ends: number[];
}

let kept = keepNothing();

function keepNothing() {
  return {
    bytes: 0,
    /** Tools and blocks of system prompts. */
    parts: new WeakMap<object, Uint8Array>(),
    /** By the first message. */
    beginnings: new WeakMap<ModelMessage, Beginning>(),
  };
}

/** The bytes of what `toWireRequest` returns. */
export function writeBody(request: ModelRequest, options: { isStreaming: boolean }): Uint8Array {
  const { tools = [], system = [], messages, ...head } = toWireRequest(request, options);
  const beginning = begin(messages, request.messages);
  const rest = messages.slice(beginning.messages.length);
  return Buffer.concat([
    encode(JSON.stringify(head).slice(0, -1)),
    ...writeParts('tools', tools, request.tools),
    ...writeParts('system', system, request.system),
    encode(',"messages":['),
    ...beginning.pieces,
    encode(`${beginning.pieces.length > 0 && rest.length > 0 ? ',' : ''}${JSON.stringify(rest).slice(1)}}`),
  ]);
}

function writeParts(name: string, parts: readonly object[], own: readonly object[]): Uint8Array[] {
  if (parts.length === 0) return [];
  const pieces = parts.flatMap((part, at) => [
    at === 0 ? encode(`,"${name}":[`) : COMMA,
    part === own[at] ? writePart(part) : encode(JSON.stringify(part)),
  ]);
  return [...pieces, CLOSE];
}

function writePart(part: object): Uint8Array {
  const known = kept.parts.get(part);
  if (known !== undefined) return known;
  const bytes = writeKept(JSON.stringify(part));
  kept.parts.set(part, bytes);
  return bytes;
}

/** The messages up to the first with an image or that is not of the request itself. */
function begin(messages: readonly ModelMessage[], own: readonly ModelMessage[]): Beginning {
  const [first] = messages;
  const none: Beginning = { messages: [], pieces: [], ends: [] };
  if (first === undefined) return none;
  const known = kept.beginnings.get(first);
  const beginning = known === undefined ? none : sameBeginning(known, messages);
  const from = beginning.messages.length;
  const end = messages.findIndex((message, at) => at >= from && (message !== own[at] || hasImage(message)));
  const added = messages.slice(from, end === -1 ? undefined : end);
  if (added.length === 0) return beginning;
  const bytes = writeKept(`${from === 0 ? '' : ','}${JSON.stringify(added).slice(1, -1)}`);
  kept.beginnings.set(first, beginning);
  beginning.messages.push(...added);
  beginning.pieces.push(bytes);
  beginning.ends.push(beginning.messages.length);
  return beginning;
}

/** The pieces up to the first message that is another one now. */
function sameBeginning(known: Beginning, messages: readonly ModelMessage[]): Beginning {
  const changedAt = known.messages.findIndex((message, at) => message !== messages[at]);
  if (changedAt === -1) return known;
  const count = known.ends.filter((end) => end <= changedAt).length;
  const [pieces, ends] = [known.pieces.slice(0, count), known.ends.slice(0, count)];
  return { messages: known.messages.slice(0, ends.at(-1) ?? 0), pieces, ends };
}

function hasImage({ content }: ModelMessage): boolean {
  return content.some((block) => {
    if (block.type !== 'tool_result' || typeof block.content === 'string') return block.type === 'image';
    return block.content.some(({ type }) => type === 'image');
  });
}

function writeKept(json: string): Uint8Array {
  const bytes = encode(json);
  if (kept.bytes + bytes.length > KEPT_BYTES_MAX) kept = keepNothing();
  kept.bytes += bytes.length;
  return bytes;
}

const encoder = new TextEncoder();
const COMMA = encode(',');
const CLOSE = encode(']');

/** In memory of its own: `Buffer.from` puts a short text into a block of 8 kB, which stays as long as anything in it. */
function encode(text: string): Uint8Array {
  return encoder.encode(text);
}
