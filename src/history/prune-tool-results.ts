// Pruning: old tool results are the largest and least useful part of a long context. This file
// decides how much of them a request still shows, and builds that view. Rows are never changed;
// only the view of one request is pruned.
//
// When. A provider keeps the prefix of the last request for some minutes (the ttl) and takes it at
// a tenth of the price. Changing old messages would throw that away, so nothing is decided while
// the cache may still be warm: the caller asks only when the time since the last call is over the
// ttl. The decision is kept (`PruningView`) and every later request shows it byte for byte, until
// the cache has expired again and the context has grown enough to prune more.
//
// How far. The context is estimated in characters and compared with the model's window:
//
//     0 ------------ softTrimRatio ------------ hardClearRatio ------------ 1
//       nothing        results longer than        oldest results first are
//                      maxChars keep their        replaced by a placeholder,
//                      head and their tail        until it is below again
//
// Clearing is worth its loss only when it saves much: it needs `minPrunableToolChars` of prunable
// results.
//
// What stays. Everything that is no tool result. Results before the first user message (the setup
// of a session), results after the last `keepLastAssistants` answers (what the model works with),
// results that hold images, results of tools that the configuration keeps, and messages without a
// row (added by a plugin).
//
// How it is remembered. Both measures go from old to new and stop somewhere, so two numbers say
// all: results of calls in answers up to `trimmedUntil` are trimmed, up to `clearedUntil` cleared.
// They are numbers of entries, which do not depend on what else the view leaves out, so a later
// request finds the same results again even when its history begins elsewhere.
//
// What must hold (properties in the test): pruning never raises the estimate, never touches what is
// protected, and pruning what is pruned changes nothing.
import { matchesPattern, cutHead, cutTail } from '../core/text.ts';
import { changeContent, textOfResult, type ContentBlock, type ToolResultBlock } from '../core/content.ts';
import { CHARS_PER_TOKEN, charsOfBlock, estimateChars } from '../core/content-size.ts';
import type { ModelMessage } from '../core/model-request.ts';
import type { PruningView } from '../core/view.ts';

/**
 * Messages of a request with the numbers of the entries that they begin with; below 1: of no row.
 */
export interface PruneMaterial {
  messages: readonly ModelMessage[];
  seqs: readonly number[];
}

/** The names of the configuration (`contextPruning`), and the model's context window. */
export interface PruningSettings {
  keepLastAssistants: number;
  /**
   * Share of the context window from which tool results are trimmed, and from which they are
   * cleared.
   */
  softTrimRatio: number;
  hardClearRatio: number;
  minPrunableToolChars: number;
  softTrim: { maxChars: number; headChars: number; tailChars: number };
  hardClear: { enabled: boolean; placeholder: string };
  /** Which tools' results may be pruned. */
  tools: { allow: string[]; deny: string[] };
  contextTokens: number;
}

/** More than the cut and its note add to head and tail. */
const TRIM_ROOM_CHARS = 160;

/**
 * How far to prune now; `before` is how far it was pruned until now. Returns `before` when it need
 * not go further, also when that is undefined: nothing is pruned.
 */
export function decidePruning(
  material: PruneMaterial,
  settings: PruningSettings,
  before?: PruningView,
): PruningView | undefined {
  const windowChars = settings.contextTokens * CHARS_PER_TOKEN;
  const shown = before === undefined ? material.messages : applyPruning(material, before);
  let totalChars = estimateChars(shown);
  if (totalChars / windowChars < settings.softTrimRatio) return before;

  const trimmed = buildView(settings, before);
  const groups = prunableGroups({ messages: shown, seqs: material.seqs }, trimmed, settings.keepLastAssistants);
  for (const group of groups) {
    const results = group.results.map((block) => trim(block, trimmed));
    const savedChars = countChars(group.results) - countChars(results);
    if (savedChars === 0) continue;
    totalChars -= savedChars;
    group.results = results;
    trimmed.trimmedUntil = Math.max(trimmed.trimmedUntil, group.seq);
  }
  const toolChars = groups.reduce((sum, { results }) => sum + countPlainChars(results), 0);
  if (settings.hardClear.enabled && toolChars >= settings.minPrunableToolChars) {
    for (const { seq, results } of groups) {
      if (totalChars / windowChars < settings.hardClearRatio) break;
      const savedChars = countChars(results) - countChars(results.map((block) => clear(block, trimmed)));
      if (savedChars === 0) continue;
      totalChars -= savedChars;
      trimmed.clearedUntil = Math.max(trimmed.clearedUntil, seq);
    }
  }
  return isFurther(trimmed, before) ? trimmed : before;
}

/** The messages as a request shows them; those that stay whole are the same objects. */
export function applyPruning({ messages, seqs }: PruneMaterial, view: PruningView): ModelMessage[] {
  const start = firstWordsAt(messages, seqs);
  const until = Math.max(view.trimmedUntil, view.clearedUntil);
  return messages.map((message, at) => {
    const seq = seqs[at - 1] ?? 0;
    if (at <= start || seq < 1 || seq > until || message.role !== 'user') return message;
    return prune(message, messages[at - 1], seq, view);
  });
}

/** The prunable results of one answer's calls. */
interface Group {
  seq: number;
  results: ToolResultBlock[];
}

function prunableGroups({ messages, seqs }: PruneMaterial, view: PruningView, keepLastAssistants: number): Group[] {
  const groups: Group[] = [];
  const start = firstWordsAt(messages, seqs);
  const end = lastAnswersAt(messages, keepLastAssistants);
  for (let at = start + 1; at < end; at += 1) {
    const message = messages[at];
    const seq = seqs[at - 1] ?? 0;
    if (message?.role !== 'user' || seq < 1) continue;
    const isPrunable = prunableIn(messages[at - 1], view);
    const results = message.content.filter((block) => isPrunable(block));
    if (results.length > 0) groups.push({ seq, results });
  }
  return groups;
}

/** The position of the first user message; everything before is the setup of the session. */
function firstWordsAt(messages: readonly ModelMessage[], seqs: readonly number[]): number {
  const at = messages.findIndex(
    ({ role, content }, index) =>
      role === 'user' && (seqs[index] ?? 0) > 0 && content.some(({ type }) => type === 'text'),
  );
  return at === -1 ? messages.length : at;
}

/** Where the last answers begin whose results are kept; 0 when there are fewer. */
function lastAnswersAt(messages: readonly ModelMessage[], count: number): number {
  if (count <= 0) return messages.length;
  let left = count;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    if (messages[at]?.role !== 'assistant') continue;
    left -= 1;
    if (left === 0) return at;
  }
  return 0;
}

function prune(message: ModelMessage, answer: ModelMessage | undefined, seq: number, view: PruningView): ModelMessage {
  const isPrunable = prunableIn(answer, view);
  return changeContent(message, (block) => {
    if (!isPrunable(block)) return block;
    const trimmed = seq <= view.trimmedUntil ? trim(block, view) : block;
    return seq <= view.clearedUntil ? clear(trimmed, view) : trimmed;
  });
}

/**
 * Says which blocks after an answer may be pruned: results of tools that are not kept, without
 * images.
 */
function prunableIn(
  answer: ModelMessage | undefined,
  { tools }: PruningView,
): (block: ContentBlock) => block is ToolResultBlock {
  const names = new Map<string, string>();
  for (const block of answer?.content ?? []) if (block.type === 'tool_use') names.set(block.id, block.name);
  return (block): block is ToolResultBlock => {
    if (block.type !== 'tool_result' || hasImage(block)) return false;
    const name = names.get(block.tool_use_id);
    return name !== undefined && isPrunableTool(name.toLowerCase(), tools);
  };
}

function isPrunableTool(name: string, { allow, deny }: PruningView['tools']): boolean {
  const isNamed = (pattern: string): boolean => matchesPattern(name, pattern.trim().toLowerCase());
  return !deny.some(isNamed) && (allow.length === 0 || allow.some(isNamed));
}

function hasImage({ content }: ToolResultBlock): boolean {
  return typeof content !== 'string' && content.some(({ type }) => type === 'image');
}

function trim(block: ToolResultBlock, { maxChars, headChars, tailChars }: PruningView): ToolResultBlock {
  if (countPlainChars([block]) <= Math.max(maxChars, headChars + tailChars + TRIM_ROOM_CHARS)) return block;
  const text = textOfResult(block);
  const note = `[Tool result trimmed: kept first ${headChars} chars and last ${tailChars} chars of ${text.length} chars.]`;
  return withText(block, `${cutHead(text, headChars)}\n...\n${cutTail(text, tailChars)}\n\n${note}`);
}

function clear(block: ToolResultBlock, { placeholder }: PruningView): ToolResultBlock {
  return countPlainChars([block]) <= placeholder.length ? block : withText(block, placeholder);
}

function withText(block: ToolResultBlock, text: string): ToolResultBlock {
  return { ...block, content: typeof block.content === 'string' ? text : [{ type: 'text', text }] };
}

function countChars(results: readonly ToolResultBlock[]): number {
  return results.reduce((sum, block) => sum + charsOfBlock(block), 0);
}

function countPlainChars(results: readonly ToolResultBlock[]): number {
  let chars = 0;
  for (const { content } of results) {
    if (typeof content === 'string') chars += content.length;
    else for (const part of content) if (part.type === 'text') chars += part.text.length;
  }
  return chars;
}

function buildView({ softTrim, hardClear, tools }: PruningSettings, before: PruningView | undefined): PruningView {
  return {
    trimmedUntil: before?.trimmedUntil ?? 0,
    clearedUntil: before?.clearedUntil ?? 0,
    ...softTrim,
    placeholder: hardClear.placeholder,
    tools,
  };
}

function isFurther(view: PruningView, before: PruningView | undefined): boolean {
  return view.trimmedUntil > (before?.trimmedUntil ?? 0) || view.clearedUntil > (before?.clearedUntil ?? 0);
}
