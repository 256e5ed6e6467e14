// The transcript as a provider accepts it, for any rows: user first, roles alternating, every tool
// call followed by exactly one result in the order of the calls, ids unique, no empty blocks (G12).
// Rows are never changed; faults are repaired in the request, always in the same way, so that the
// provider's cache keeps its prefix.
//
// Content first goes through `CONTENT_PASSES`, entry by entry. Here the entries are joined: tool
// calls get their names, results follow their calls (missing ones are synthesised, those without a
// call are dropped), consecutive messages of one role become one, block after block, and `(session
// bootstrap)` precedes an answer that would be first.
//
// A history grows at its end only. Adding an entry costs what the entry costs, however long the
// history is: only the last message (the last two while an answer is continued) is ever replaced,
// by a new object; those before it always stay the same objects. Calls always have results: error
// results are placeholders until their own arrive.
import {
  type ContentBlock,
  type ToolResultBlock,
  type BlockOrigin,
  type ImageBlock,
  type TextBlock,
  type ThinkingBlock,
  changeEach,
  isThinking,
  mendThought,
} from '../core/content.ts';
import type { Entry, EntryState, EntryProvenance } from '../core/entry.ts';
import type { ModelMessage } from '../core/model-request.ts';
import { given } from '../core/json.ts';
import { FAMILY_POLICIES, giveCallId, type FamilyPolicy, type ProviderFamily } from './provider-family.ts';
import { isBlank, storableValue } from '../core/text.ts';
import { modelName, modelOfRef, refOfModel } from '../core/models.ts';
import { faultOfImage } from './image-payload.ts';

/** An entry on its way into a history; without a state it is active. */
export type HistoryEntry = Pick<Entry, 'role' | 'content' | 'provenance'> & {
  readonly state?: EntryState;
  /** Below 1 or absent: of no row. */
  readonly seq?: number;
};

export interface HistoryRules {
  /** Absent: anthropic. */
  family?: ProviderFamily;
  /** The model that is asked, as `provider/model`; absent: blocks lose their origins. */
  model?: string;
  /** Blocks of entries up to this number lose them all the same; absent: none. */
  originsAfterSeq?: number;
  /** Images of entries up to this number are left out; absent: none. */
  imagesAfterSeq?: number;
  /** True when the model that is asked wrote this entry; absent: it wrote all. */
  isOwn?: (seq: number) => boolean;
  /**
   * False: the reasoning of this entry is of a key that cannot be read by that of the call; absent:
   * it never is.
   */
  isOfScope?: (seq: number) => boolean;
  /** Blocks that are shown after the content of an entry. */
  imagesOf?: (seq: number) => readonly ContentBlock[];
  /** Keeps for each block where it came from. */
  isTraced?: boolean;
}

export interface History {
  /** The messages to send. Grows with `push`; the messages themselves are never changed. */
  readonly messages: readonly ModelMessage[];
  /**
   * For each message, the number of the entry that it begins with; 0: it begins with something made
   * up here.
   */
  readonly seqs: readonly number[];
  /**
   * For each message and each of its blocks, the entry that it is of (0: made up here). Empty
   * unless traced.
   */
  readonly trace: readonly (readonly number[])[];
  /** Adds an entry at the end. Entries that are not active, or hold nothing, add nothing. */
  push(entry: HistoryEntry): void;
}

const MISSING_RESULT =
  '[holdfast] missing tool result in session history; inserted synthetic error result for transcript repair.';
const BOOTSTRAP: ContentBlock = { type: 'text', text: '(session bootstrap)' };

/** A history that starts with the given entries. Feeding its messages in again gives them back. */
export function createHistory(entries: readonly HistoryEntry[] = [], rules: HistoryRules = {}): History {
  const history = new GrowingHistory(rules);
  for (const entry of entries) history.push(entry);
  return history;
}

/** A block and the entry that it came with. */
interface Piece {
  block: ContentBlock;
  seq: number;
}

/** One call of the last answer, under the id that it is sent with. */
interface OpenCall {
  id: string;
  /** The id that the transcript knows it by. */
  originalId: string;
  result: Piece | null;
}

/** The part that can still grow: the last answer with all user content after it. */
interface Tail {
  /** The answer's blocks; null before the first answer. */
  answer: Piece[] | null;
  /** The answer as it was last written; null when it has grown since. */
  written: ModelMessage | null;
  /** The calls of that answer, in order. */
  calls: OpenCall[];
  /** What users said after it, entry by entry. */
  said: Piece[][];
}

const NO_IMAGES: readonly ContentBlock[] = [];

class GrowingHistory implements History {
  readonly #rules: HistoryRules;
  readonly #policy: FamilyPolicy;
  readonly #messages: ModelMessage[] = [];
  readonly #seqs: number[] = [];
  readonly #trace: number[][] = [];
  readonly #usedIds = new Set<string>();
  #tail = newTail(null);
  #isWritten = true;
  /** How many messages come before the tail. */
  #settledCount = 0;

  constructor(rules: HistoryRules) {
    this.#rules = rules;
    this.#policy = FAMILY_POLICIES[rules.family ?? 'anthropic'];
  }

  get messages(): readonly ModelMessage[] {
    this.#write();
    return this.#messages;
  }

  get seqs(): readonly number[] {
    this.#write();
    return this.#seqs;
  }

  get trace(): readonly (readonly number[])[] {
    this.#write();
    return this.#trace;
  }

  push(entry: HistoryEntry): void {
    if (entry.state !== undefined && entry.state !== 'active') return;
    const seq = entry.seq ?? 0;
    const content = cleanContent(entry.content, this.#toContext(entry, seq));
    if (content.length === 0) return;
    const pieces = content.map((block) => ({ block, seq }));
    if (entry.role === 'assistant') this.#pushAnswer(pieces);
    else this.#pushUser(pieces);
    this.#isWritten = false;
  }

  #toContext({ role, provenance }: HistoryEntry, seq: number): PassContext {
    const { model, originsAfterSeq = 0, imagesAfterSeq, isOwn, isOfScope, imagesOf } = this.#rules;
    const isReadable = seq > originsAfterSeq && (isOfScope?.(seq) ?? true);
    return {
      role,
      policy: this.#policy,
      isOwn: isOwn?.(seq) ?? true,
      ...given({ model: isReadable ? model : undefined }),
      provenance: provenance ?? null,
      images: imagesOf?.(seq) ?? NO_IMAGES,
      omitsImages: imagesAfterSeq !== undefined && seq <= imagesAfterSeq,
    };
  }

  #pushAnswer(pieces: Piece[]): void {
    if (isEmpty(this.#tail) && this.#policy.beginsWithUser) {
      this.#tail.said.push([{ block: BOOTSTRAP, seq: 0 }]);
      this.#isWritten = false;
    }
    const { answer, calls, said } = this.#tail;
    const isContinued = this.#policy.alternates && answer !== null && calls.length === 0 && said.length === 0;
    if (!isContinued) {
      this.#settle();
      this.#tail = newTail([]);
    }
    this.#tail.written = null;
    for (const { block, seq } of pieces) {
      const named = block.type === 'tool_use' ? this.#openCall(block) : block;
      this.#tail.answer?.push({ block: named, seq });
    }
  }

  #pushUser(pieces: Piece[]): void {
    const said: Piece[] = [];
    for (const piece of pieces) {
      if (piece.block.type === 'tool_result') takeResult(this.#tail, piece.block, piece.seq);
      else said.push(piece);
    }
    if (said.length > 0) this.#tail.said.push(said);
  }

  // Providers require each id once in a whole conversation; scripted and resumed models repeat
  // them.
  #openCall(block: Extract<ContentBlock, { type: 'tool_use' }>): ContentBlock {
    const id = giveCallId(block.id, this.#policy.callIds, this.#usedIds);
    this.#tail.calls.push({ id, originalId: block.id, result: null });
    return id === block.id ? block : { ...block, id };
  }

  #settle(): void {
    this.#write();
    this.#settledCount = this.#messages.length;
  }

  #write(): void {
    if (this.#isWritten) return;
    this.#isWritten = true;
    if (this.#messages.length > this.#settledCount) this.#cut();
    const { answer, said } = this.#tail;
    if (answer !== null) this.#add('assistant', answer);
    const results = buildResults(this.#tail);
    if (this.#policy.alternates) return this.#add('user', [...results, ...said.flat()]);
    this.#add('user', results);
    for (const pieces of said) this.#add('user', pieces);
  }

  #cut(): void {
    this.#messages.length = this.#settledCount;
    this.#seqs.length = this.#settledCount;
    if (this.#rules.isTraced === true) this.#trace.length = this.#settledCount;
  }

  #add(role: ModelMessage['role'], pieces: readonly Piece[]): void {
    if (pieces.length === 0) return;
    const written = role === 'assistant' ? this.#tail.written : null;
    const message = written ?? { role, content: pieces.map(({ block }) => block) };
    if (role === 'assistant') this.#tail.written = message;
    this.#messages.push(message);
    this.#seqs.push(pieces[0]?.seq ?? 0);
    if (this.#rules.isTraced === true) this.#trace.push(pieces.map(({ seq }) => seq));
  }
}

function newTail(answer: Piece[] | null): Tail {
  return { answer, written: null, calls: [], said: [] };
}

function isEmpty({ answer, said }: Tail): boolean {
  return answer === null && said.length === 0;
}

// The first result of a call counts; results of no call of this answer are dropped.
function takeResult(tail: Tail, block: ToolResultBlock, seq: number): void {
  const call = tail.calls.find(({ originalId, result }) => result === null && originalId === block.tool_use_id);
  if (call === undefined) return;
  call.result = { block: call.id === block.tool_use_id ? block : { ...block, tool_use_id: call.id }, seq };
}

function buildResults({ calls }: Tail): Piece[] {
  return calls.map(({ id, result }) => result ?? { block: missingResult(id), seq: 0 });
}

function missingResult(id: string): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: id, content: MISSING_RESULT, is_error: true };
}

// The repair of a message's content, block by block: an ordered list of passes over the content of
// one entry. Each takes the blocks and returns them, the same array when it has nothing to change;
// none reads other entries, none loses a text. Repairs that need several entries (names and pairs
// of tool calls, the order of roles) is done where entries are joined: prepare-history.ts.

/** The facts of its entry that a pass gets. */
export interface PassContext {
  role: 'user' | 'assistant';
  policy: FamilyPolicy;
  /** True when the model that is asked wrote this entry itself. */
  isOwn: boolean;
  /**
   * The name of the model that is asked, with its provider; absent: none that needs something back
   * with its blocks.
   */
  model?: string;
  provenance: EntryProvenance | null;
  /** Images that are shown after the content. */
  images: readonly ContentBlock[];
  /** True when its images are left out, because the server refused a request for its size. */
  omitsImages?: boolean;
}

/** A pass over one entry's content. Pure; returns its argument when nothing changes. */
type ContentPass = (content: readonly ContentBlock[], context: PassContext) => readonly ContentBlock[];

// The order matters: some passes take out what others left over.
export const CONTENT_PASSES: readonly ContentPass[] = [
  markInterSession,
  showImages,
  keepBlocksOfRole,
  mendText,
  omitBadImages,
  dropForeignOrigins,
  dropOtherThinking,
  checkSignatures,
  dropForeignSignatures,
  dropBrokenToolCalls,
  stripDetails,
  dropBlankText,
  dropTrailingThinking,
];

/** The blocks of an entry that a provider accepts; possibly none. */
export function cleanContent(content: readonly ContentBlock[], context: PassContext): readonly ContentBlock[] {
  return CONTENT_PASSES.reduce((blocks, pass) => pass(blocks, context), content);
}

const BLOCKS_OF: Readonly<Record<PassContext['role'], ReadonlySet<ContentBlock['type']>>> = {
  user: new Set(['text', 'image', 'tool_result']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']),
};

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const REASONING_SIGNATURE = /^rs_|"id":"rs_/;
const SIGNATURE_FIELDS = ['thought_signature', 'thoughtSignature'];

/**
 * True when a call can be sent to a provider: it has a name and an id, and its input is an object.
 */
export function isWholeToolCall({ id, name, input }: { id: unknown; name: unknown; input: unknown }): boolean {
  if (typeof id !== 'string' || id === '' || typeof name !== 'string' || !TOOL_NAME.test(name)) return false;
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}

/**
 * Marks a message of another session with its origin, so that the model does not mistake it for the
 * user's.
 */
function markInterSession(content: readonly ContentBlock[], { provenance }: PassContext): readonly ContentBlock[] {
  if (provenance?.kind !== 'inter_session') return content;
  const { sourceSession, sourceChannel, sourceTool } = provenance;
  const facts = Object.entries({ sourceSession, sourceChannel, sourceTool }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value.replaceAll(/[^\w:.@+-]/g, '_')}`],
  );
  const marker = ['[Inter-session message]', ...facts].join(' ');
  const at = content.findIndex((block) => block.type === 'text');
  const text = content[at];
  if (text?.type !== 'text') return [{ type: 'text', text: marker }, ...content];
  return content.with(at, { type: 'text', text: `${marker}\n${text.text}` });
}

function showImages(content: readonly ContentBlock[], { images }: PassContext): readonly ContentBlock[] {
  return images.length === 0 ? content : [...content, ...images];
}

function keepBlocksOfRole(content: readonly ContentBlock[], { role }: PassContext): readonly ContentBlock[] {
  return keep(content, (block) => BLOCKS_OF[role].has(block.type));
}

/**
 * Halves of characters and NULs, which providers refuse: earlier versions stored them, and tools
 * may return them.
 */
function mendText(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return changeEach(content, (block) => (isThinking(block) ? mendThought(block) : storableValue(block)));
}

/** Replaces an image that the provider would refuse, or that is left out, by a note. */
function omitBadImages(
  content: readonly ContentBlock[],
  { omitsImages = false }: PassContext,
): readonly ContentBlock[] {
  const imageOrNote = (image: ImageBlock) => noteOf(omitsImages ? TOO_LARGE : faultOfImage(image)) ?? image;
  return changeEach(content, (block) => {
    if (block.type === 'image') return imageOrNote(block);
    if (block.type !== 'tool_result' || typeof block.content === 'string') return block;
    const inner = changeEach(block.content, (part) => (part.type === 'image' ? imageOrNote(part) : part));
    return inner === block.content ? block : { ...block, content: [...inner] };
  });
}

const TOO_LARGE = 'the server of the model takes no request of this size';

function noteOf(fault: string | null): TextBlock | null {
  if (fault === null) return null;
  const what = fault === 'empty' ? 'empty image payload' : `image payload: ${fault}`;
  return { type: 'text', text: `[session:history] omitted ${what}` };
}

/**
 * What another model needs back means nothing to this one, and its API refuses fields that it does
 * not know.
 */
function dropForeignOrigins(content: readonly ContentBlock[], { model }: PassContext): readonly ContentBlock[] {
  return changeEach(content, (block) => {
    const origin = originOf(block);
    return origin === undefined || modelName(modelOfRef(refOfModel(origin))) === model
      ? block
      : without(block, ['origin']);
  });
}

/** Thinking is of use to the model that thought it; to any other it is at best ignored. */
function dropOtherThinking(content: readonly ContentBlock[], { policy, isOwn }: PassContext): readonly ContentBlock[] {
  switch (policy.thinking) {
    case 'own':
      return isOwn ? content : keep(content, (block) => !isThinking(block));
    case 'signed':
      return keep(content, (block) => block.type !== 'redacted_thinking');
    case 'reasoning':
      return keep(content, (block) => !isThinking(block) || hasOrigin(block) || isReasoningItem(block));
    case 'never':
      return keep(content, (block) => !isThinking(block));
    default:
      return policy.thinking satisfies never;
  }
}

/**
 * A thought without a valid signature cannot be replayed as one; where the family allows it, it
 * stays as text.
 */
function checkSignatures(content: readonly ContentBlock[], { policy }: PassContext): readonly ContentBlock[] {
  if (policy.thinking === 'signed') {
    return changeEach(content, (block) =>
      block.type === 'thinking' && !hasOrigin(block) && !BASE64.test(block.signature)
        ? { type: 'text', text: block.thinking }
        : block,
    );
  }
  return keep(content, (block) => block.type !== 'thinking' || hasOrigin(block) || block.signature !== '');
}

/**
 * Signatures that another provider put on texts and calls mean nothing to this one, or are refused.
 */
function dropForeignSignatures(content: readonly ContentBlock[], { policy }: PassContext): readonly ContentBlock[] {
  return policy.dropsForeignSignatures ? changeEach(content, (block) => without(block, SIGNATURE_FIELDS)) : content;
}

// A result without its call goes later, when the calls are paired.
function dropBrokenToolCalls(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return keep(content, (block) => block.type !== 'tool_use' || isWholeToolCall(block));
}

/** Removes fields of a tool result that the model must not see. */
function stripDetails(content: readonly ContentBlock[]): readonly ContentBlock[] {
  return changeEach(content, (block) => (block.type === 'tool_result' ? without(block, ['details']) : block));
}

function dropBlankText(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const kept = keep(content, (block) => block.type !== 'text' || !isBlank(block.text));
  return changeEach(kept, (block) => (block.type === 'tool_result' ? withoutBlankText(block) : block));
}

function withoutBlankText(block: ToolResultBlock): ToolResultBlock {
  if (typeof block.content === 'string') return block;
  const inner = keep(block.content, (part) => part.type !== 'text' || !isBlank(part.text));
  return inner === block.content ? block : { ...block, content: [...inner] };
}

// A thought needs something after it; reasoning items are refused without what they led to.
function dropTrailingThinking(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const last = content.findLastIndex((block) => !isThinking(block));
  return last === content.length - 1 ? content : content.slice(0, last + 1);
}

function isReasoningItem(block: ContentBlock): block is ThinkingBlock {
  return block.type === 'thinking' && REASONING_SIGNATURE.test(block.signature);
}

function originOf(block: ContentBlock): BlockOrigin | undefined {
  return 'origin' in block ? block.origin : undefined;
}

/** True for a block of the model that is asked: the origins of others are gone by then. */
function hasOrigin(block: ContentBlock): boolean {
  return originOf(block) !== undefined;
}

function without<Block extends object>(block: Block, fields: readonly string[]): Block {
  if (!fields.some((field) => Object.hasOwn(block, field))) return block;
  // Fields that the type of the block does not know.
  return Object.fromEntries(Object.entries(block).filter(([name]) => !fields.includes(name))) as Block;
}

// Most content needs no change: nothing is made until something differs.
function keep<Item>(items: readonly Item[], isKept: (item: Item) => boolean): readonly Item[] {
  for (const item of items) if (!isKept(item)) return items.filter(isKept);
  return items;
}
