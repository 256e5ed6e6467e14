// The transcript as a provider accepts it, for any rows: user first, roles alternating, every tool call followed by exactly one
// result in the order of the calls, ids unique, no empty blocks (G12). Rows are never changed; faults are repaired in the
// request, always in the same way, so that the provider's cache keeps its prefix.
//
// Content first goes through the passes of content-passes.ts, entry by entry. Here the entries are joined: tool calls get their
// names, results follow their calls (missing ones are synthesised, those without a call are dropped), consecutive messages of one
// role become one, block after block, and `(session bootstrap)` precedes an answer that would be first.
//
// A history grows at its end only. Adding an entry costs what the entry costs, however long the history is: only the last message
// (the last two while an answer is continued) is ever replaced, by a new object; those before it always stay the same objects.
// Calls always have results: error results are placeholders until their own arrive.
import type { ContentBlock, ToolResultBlock } from '../core/content.ts';
import type { Entry, EntryState } from '../core/entry.ts';
import type { ModelMessage } from '../core/model-request.ts';
import { given } from '../core/given.ts';
import { cleanContent, type PassContext } from './content-passes.ts';
import { FAMILY_POLICIES, giveCallId, type FamilyPolicy, type ProviderFamily } from './provider-family.ts';

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
  /** False: the reasoning of this entry is of a key that cannot be read by that of the call; absent: it never is. */
  isOfScope?: (seq: number) => boolean;
  /** Blocks that are shown after the content of an entry. */
  imagesOf?: (seq: number) => readonly ContentBlock[];
  /** Keeps for each block where it came from. */
  isTraced?: boolean;
}

export interface History {
  /** The messages to send. Grows with `push`; the messages themselves are never changed. */
  readonly messages: readonly ModelMessage[];
  /** For each message, the number of the entry that it begins with; 0: it begins with something made up here. */
  readonly seqs: readonly number[];
  /** For each message and each of its blocks, the entry that it is of (0: made up here). Empty unless traced. */
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

  // Providers require each id once in a whole conversation; scripted and resumed models repeat them.
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
