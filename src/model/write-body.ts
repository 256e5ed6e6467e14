// Writes the body of a request as JSON, and hashes it. The objects of a conversation are the same from call to call, so the bytes
// that were written before are kept, and of a request that grew only the new part is written and hashed. The result is
// `JSON.stringify(toWireRequest(request))` in UTF-8, byte for byte.
import { createHash, hash, type Hash } from 'node:crypto';
import type { ModelMessage, ModelRequest } from '../core/model-request.ts';
import { toWireRequest, type WireRequest } from './wire-request.ts';

/** A body as it is sent. */
export interface WrittenBody {
  bytes: Buffer;
  /** Of the bytes, in hex. */
  sha256: string;
}

/** The messages that a conversation began with when it was written last. */
interface WrittenPrefix {
  messages: WireRequest['messages'];
  /** Their bytes. */
  chunks: Buffer[];
  /** The bytes before them, and the hash of everything up to their end. */
  head: Buffer[];
  hash: Hash;
}

/** More chunks than this become one. */
const CHUNKS_MAX = 32;

/** Keyed by the first message. An entry is collected with it, when the conversation is no longer referenced. */
const conversations = new WeakMap<object, WrittenPrefix>();

/** System prompts and lists of tools, which many requests share. */
const shared = new WeakMap<object, Buffer>();

const COMMA = Buffer.from(',');
const TOOLS = Buffer.from(',"tools":');
const SYSTEM = Buffer.from(',"system":');
const MESSAGES = Buffer.from(',"messages":[');
const END = Buffer.from(']}');

/** The body of `POST /v1/messages`. */
export function writeBody(request: ModelRequest, options: { isStreaming?: boolean } = {}): WrittenBody {
  const { tools, system, messages, ...rest } = toWireRequest(request, options);
  const head = [
    bytesOf(JSON.stringify(rest).slice(0, -1)),
    ...(tools === undefined ? [] : [TOOLS, writeShared(tools)]),
    ...(system === undefined ? [] : [SYSTEM, writeShared(system)]),
    MESSAGES,
  ];
  const settled = settle(head, request.messages, messages);
  if (settled === null) {
    const bytes = Buffer.concat([...head, write(messages), END]);
    return { bytes, sha256: hash('sha256', bytes, 'hex') };
  }
  const open = messages.slice(settled.messages.length);
  const tail = open.length === 0 ? [END] : [COMMA, write(open), END];
  const digest = settled.hash.copy();
  for (const chunk of tail) digest.update(chunk);
  return { bytes: Buffer.concat([...head, ...settled.chunks, ...tail]), sha256: digest.digest('hex') };
}

function writeShared(value: object): Buffer {
  let bytes = shared.get(value);
  if (bytes === undefined) shared.set(value, (bytes = bytesOf(JSON.stringify(value))));
  return bytes;
}

/** Writes down the messages that will come again as they are; null when the request has none of them. */
function settle(head: Buffer[], own: readonly ModelMessage[], wire: WireRequest['messages']): WrittenPrefix | null {
  const [first] = own;
  // Messages with a cache marker are copies, made for this request alone: what precedes the first of them will be the same in
  // the next request.
  const markedAt = wire.findIndex((message, at) => message !== own[at]);
  const count = markedAt === -1 ? wire.length : markedAt;
  if (first === undefined || count === 0) return null;
  const known = conversations.get(first);
  const before = known !== undefined && startsWith(wire, known.messages) ? known : null;
  const chunks = before === null ? [] : [...before.chunks];
  const written = chunks.length;
  if (before === null || count > before.messages.length) {
    if (before !== null) chunks.push(COMMA);
    chunks.push(write(wire.slice(before?.messages.length, count)));
  }
  const isSameHead = before !== null && isEqual(before.head, head);
  const digest = isSameHead ? before.hash : hashOf(head);
  for (const chunk of isSameHead ? chunks.slice(written) : chunks) digest.update(chunk);
  const settled = {
    messages: wire.slice(0, count),
    chunks: chunks.length > CHUNKS_MAX ? [Buffer.concat(chunks)] : chunks,
    head,
    hash: digest,
  };
  conversations.set(first, settled);
  return settled;
}

function write(messages: WireRequest['messages']): Buffer {
  return bytesOf(messages.map((message) => JSON.stringify(message)).join(','));
}

/** In memory of its own: a small buffer out of Node's pool would hold 64 kB of it for as long as its conversation lasts. */
function bytesOf(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

function hashOf(head: Buffer[]): Hash {
  const digest = createHash('sha256');
  for (const chunk of head) digest.update(chunk);
  return digest;
}

function isEqual(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return one.length === other.length && one.every((chunk, at) => chunk === other[at] || chunk.equals(other[at]!));
}

function startsWith(messages: readonly object[], start: readonly object[]): boolean {
  return start.length <= messages.length && start.every((message, at) => message === messages[at]);
}
