// The transcript as a provider accepts it, whatever the rows say: user first, roles alternating, every tool call followed by
// exactly one result in the order of the calls, ids unique, no empty blocks (G12). Rows are never changed; what is wrong is put
// right on the way out, always in the same way, so that the provider's cache keeps its prefix.
//
// A history grows at its end only. Adding an entry costs what the entry costs, however long the history is: only the last message
// (the last two while an answer is continued) is ever replaced, by a new object; those before it stay the same objects for
// ever. Calls always have results: error results stand in until their own arrive.
import type { ContentBlock, ToolResultBlock } from '../content.ts';
import type { Entry, EntryState } from '../entry.ts';
import type { ModelMessage } from '../model-request.ts';
import { cleanContent } from './clean-content.ts';

/** An entry on its way into a history; without a state it is active. */
export type HistoryEntry = Pick<Entry, 'role' | 'content'> & { readonly state?: EntryState };

export interface History {
  /** What is sent. Grows with `push`; the messages themselves are never changed. */
  readonly messages: readonly ModelMessage[];
  /** Adds an entry at the end. Entries that are not active, or hold nothing, add nothing. */
  push(entry: HistoryEntry): void;
}

const MISSING_RESULT =
  '[holdfast] missing tool result in session history; inserted synthetic error result for transcript repair.';
const BOOTSTRAP: ContentBlock = { type: 'text', text: '(session bootstrap)' };

/** The messages of a transcript. Feeding them in again gives them back. */
export function prepareHistory(entries: readonly HistoryEntry[]): ModelMessage[] {
  return [...createHistory(entries).messages];
}

/** One call of the last answer, under the id that it is sent with. */
interface OpenCall {
  id: string;
  result: ToolResultBlock | null;
}

/** The message at the end, while it may still grow. */
interface Tail {
  /** The answer's blocks; null before the first answer. */
  answer: ContentBlock[] | null;
  /** The answer as it was last written; null when it has grown since. */
  written: ModelMessage | null;
  /** The calls of that answer in order, and by the id that the transcript knows them by. */
  calls: OpenCall[];
  callsById: Map<string, OpenCall[]>;
  /** What users said after it. */
  said: ContentBlock[];
}

/** A history that starts with the given entries. */
export function createHistory(entries: readonly HistoryEntry[] = []): History {
  const messages: ModelMessage[] = [];
  const usedIds = new Set<string>();
  let tail: Tail = newTail(null);
  let isWritten = true;
  /** How many of `messages` come before the tail. */
  let settledCount = 0;

  const write = (): readonly ModelMessage[] => {
    if (!isWritten) {
      messages.length = settledCount;
      messages.push(...messagesOf(tail));
      isWritten = true;
    }
    return messages;
  };

  const settle = (): void => {
    write();
    settledCount = messages.length;
  };

  const pushAnswer = (content: readonly ContentBlock[]): void => {
    if (isEmpty(tail)) {
      tail.said.push(BOOTSTRAP);
      isWritten = false;
    }
    const isContinued = tail.answer !== null && tail.calls.length === 0 && tail.said.length === 0;
    if (!isContinued) {
      settle();
      tail = newTail([]);
    }
    tail.written = null;
    for (const block of content) tail.answer?.push(block.type === 'tool_use' ? openCall(tail, block, usedIds) : block);
  };

  const pushUser = (content: readonly ContentBlock[]): void => {
    for (const block of content) {
      if (block.type === 'tool_result') takeResult(tail, block);
      else tail.said.push(block);
    }
  };

  const push = (entry: HistoryEntry): void => {
    if (entry.state !== undefined && entry.state !== 'active') return;
    const content = cleanContent(entry.content, entry.role);
    if (content.length === 0) return;
    if (entry.role === 'assistant') pushAnswer(content);
    else pushUser(content);
    isWritten = false;
  };

  for (const entry of entries) push(entry);
  return {
    get messages() {
      return write();
    },
    push,
  };
}

function newTail(answer: ContentBlock[] | null): Tail {
  return { answer, written: null, calls: [], callsById: new Map(), said: [] };
}

function isEmpty({ answer, said }: Tail): boolean {
  return answer === null && said.length === 0;
}

// Providers want each id once in a whole conversation; scripted and resumed models repeat them.
function openCall(tail: Tail, block: Extract<ContentBlock, { type: 'tool_use' }>, usedIds: Set<string>): ContentBlock {
  let id = block.id;
  for (let copy = 2; usedIds.has(id); copy += 1) id = `${block.id}_${copy}`;
  usedIds.add(id);
  const call: OpenCall = { id, result: null };
  tail.calls.push(call);
  tail.callsById.set(block.id, [...(tail.callsById.get(block.id) ?? []), call]);
  return id === block.id ? block : { ...block, id };
}

// The first result of a call counts; results of no call of this answer are dropped.
function takeResult(tail: Tail, block: ToolResultBlock): void {
  const call = tail.callsById.get(block.tool_use_id)?.find(({ result }) => result === null);
  if (call !== undefined) call.result = call.id === block.tool_use_id ? block : { ...block, tool_use_id: call.id };
}

function messagesOf(tail: Tail): ModelMessage[] {
  const { answer, calls, said } = tail;
  const messages: ModelMessage[] = [];
  if (answer !== null) messages.push((tail.written ??= { role: 'assistant', content: [...answer] }));
  const results = calls.map(({ id, result }) => result ?? missingResult(id));
  const content: ContentBlock[] = [...results, ...said];
  if (content.length > 0) messages.push({ role: 'user', content });
  return messages;
}

function missingResult(id: string): ToolResultBlock {
  return { type: 'tool_result', tool_use_id: id, content: MISSING_RESULT, is_error: true };
}
