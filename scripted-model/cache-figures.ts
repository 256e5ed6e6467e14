// Counts the tokens of a request and plays the provider's prompt cache: prefixes (tools, then
// system, then messages) that end in a cache breakpoint are remembered for five minutes, and the
// longest remembered prefix of a request is read from the cache. From each breakpoint it looks back
// over a fixed number of blocks; a remembered prefix that ends further away is not found. A single
// changed character above a breakpoint is a miss, so cache mistakes show in the usage figures.
// Simplifications: a token is four characters, an image 1600 tokens; no least size of a cached
// prefix.
import { hash } from 'node:crypto';
import type { MessagesRequest, WireBlock } from './wire.ts';
import { blocksOf } from './wire.ts';

export interface InputFigures {
  /** Everything, cached or not. */
  totalTokens: number;
  /** The tokens that were neither read from the cache nor written to it. */
  inputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

const TTL_MS = 5 * 60_000;
const PREFIXES_MAX = 20_000;
/** How many blocks before a breakpoint, itself included, are searched for a remembered prefix. */
const LOOKBACK_BLOCKS = 20;
const CHARS_PER_TOKEN = 4;
const NATIVE_HASH_CHARS_MIN = 500;
const IMAGE_CHARS = 1600 * CHARS_PER_TOKEN;

/** How many tokens a text of this length counts. */
export function tokensOf(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

/** The cache of one server. `nowMs` is a clock that never goes back. */
export class PromptCache {
  readonly #nowMs: () => number;
  /** When each prefix, by its hash, expires; oldest first. */
  readonly #expiries = new Map<number, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Counts a request without touching the cache. */
  count(request: MessagesRequest): number {
    return tokensOf(prefixesOf(request).at(-1)?.chars ?? 0);
  }

  /** The figures of a request that is answered now; remembers its prefixes. */
  measure(request: MessagesRequest): InputFigures {
    const prefixes = prefixesOf(request);
    const totalTokens = tokensOf(prefixes.at(-1)?.chars ?? 0);
    const last = prefixes.findLastIndex((prefix) => prefix.isBreakpoint);
    const nowMs = this.#nowMs();
    const hit = this.#hitIn(prefixes, nowMs);
    const cachedTokens = tokensOf(prefixes[last]?.chars ?? 0);
    const cacheReadTokens = tokensOf(prefixes[hit]?.chars ?? 0);
    for (const [index, prefix] of prefixes.entries()) {
      if (prefix.isBreakpoint || index === hit) this.#remember(prefix.hash, nowMs);
    }
    return {
      totalTokens,
      inputTokens: totalTokens - cachedTokens,
      cacheReadTokens,
      cacheWriteTokens: cachedTokens - cacheReadTokens,
    };
  }

  /**
   * The longest remembered prefix that ends at a breakpoint or shortly before one; -1 when there is
   * none.
   */
  #hitIn(prefixes: readonly Prefix[], nowMs: number): number {
    let searchedAt = Number.POSITIVE_INFINITY;
    for (let index = prefixes.length - 1; index >= 0; index -= 1) {
      const prefix = prefixes[index];
      if (prefix === undefined) break;
      if (prefix.isBreakpoint) searchedAt = 0;
      if (searchedAt < LOOKBACK_BLOCKS && this.#isKnown(prefix.hash, nowMs)) return index;
      searchedAt += 1;
    }
    return -1;
  }

  #isKnown(hash: number, nowMs: number): boolean {
    const expiry = this.#expiries.get(hash);
    return expiry !== undefined && expiry > nowMs;
  }

  #remember(hash: number, nowMs: number): void {
    this.#expiries.delete(hash);
    this.#expiries.set(hash, nowMs + TTL_MS);
    if (this.#expiries.size <= PREFIXES_MAX) return;
    for (const oldest of this.#expiries.keys()) {
      this.#expiries.delete(oldest);
      break;
    }
  }
}

/** The request up to and including one block. */
interface Prefix {
  hash: number;
  chars: number;
  isBreakpoint: boolean;
}

function prefixesOf(request: MessagesRequest): Prefix[] {
  const prefixes: Prefix[] = [];
  const digest = new RollingDigest();
  digest.add(request.model);
  digest.add(request.cacheKey ?? '');
  let chars = 0;
  const close = (carrier: { cache_control?: unknown }) =>
    prefixes.push({ hash: digest.value, chars, isBreakpoint: Boolean(carrier.cache_control) });
  const tools = request.tools ?? [];
  if (tools.some((tool) => tool.cache_control)) {
    for (const tool of tools) {
      chars += addText(digest, { ...tool, cache_control: undefined });
      close(tool);
    }
  } else if (tools.length > 0) {
    // No prefix ends within them, so they are one; each counts its own characters, not those
    // between them.
    chars += addText(digest, tools) - tools.length - 1;
    close({});
  }
  for (const block of blocksOf(request.system)) {
    chars += addBlock(digest, block);
    close(block);
  }
  for (const message of request.messages) {
    digest.add(message.role);
    for (const block of blocksOf(message.content)) {
      chars += addBlock(digest, block);
      close(block);
    }
  }
  return prefixes;
}

/** Adds a block without its breakpoint, and returns how many characters it counts. */
function addBlock(digest: RollingDigest, block: WireBlock): number {
  digest.add(block.type);
  switch (block.type) {
    // These three are nearly all of it; serialising them again would cost as much as parsing them
    // did.
    case 'text':
      return addText(digest, block['text']);
    case 'tool_use':
      return addText(digest, block['id']) + addText(digest, block['name']) + addText(digest, block['input']);
    case 'tool_result':
      digest.add(block['is_error'] === true ? 'error' : 'ok');
      return addText(digest, block['tool_use_id']) + addText(digest, block['content']);
    case 'image':
      addText(digest, block['source']);
      return IMAGE_CHARS;
    default:
      return addText(digest, { ...block, cache_control: undefined });
  }
}

/** Adds a text unchanged, any other value as JSON, and returns the number of characters. */
function addText(digest: RollingDigest, value: unknown): number {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  // The native hash is three times as fast per character, but has a fixed cost of 500 characters.
  digest.add(text.length < NATIVE_HASH_CHARS_MIN ? text : hash('sha1', text, 'base64'));
  return text.length;
}

/**
 * A hash over everything added so far: quick, and good enough where a collision spoils one figure
 * of a test model.
 */
class RollingDigest {
  #low = 0x811c9dc5;
  #high = 0x9747b28c;

  add(text: string): void {
    let low = this.#low;
    let high = this.#high;
    for (let index = 0; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      low = Math.imul(low ^ unit, 0x01000193);
      high = Math.imul((high << 5) ^ (high >>> 27) ^ unit, 0x5bd1e995);
    }
    // The length keeps "ab" + "c" apart from "a" + "bc". The shift carries high bits down, which
    // multiplying never does.
    low ^= low >>> 15;
    this.#low = Math.imul(low ^ text.length, 0x01000193);
    this.#high = Math.imul(high ^ text.length, 0x5bd1e995);
  }

  /** The hash so far as a safe integer of 53 bits. */
  get value(): number {
    return (this.#low >>> 0) * 0x200000 + (this.#high >>> 11);
  }
}
