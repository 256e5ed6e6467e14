// A transcript as a conversation: what was said, and each tool call with its result.
import type { Entry, ListedTurn } from '../api.ts';
import { callMs, runsOf, type CallWait, type CallWords, type NamedCall } from '../words/calls.ts';

export type EntryContent = Entry['content'][number];

/** Where a part of an entry is: its block, the id of the entry, and its number in it. */
export interface PartPlace {
  block: EntryContent;
  entryId: string;
  n: number;
}

export interface Call extends NamedCall {
  id: string;
  /** null: the call is not among the entries that were loaded. */
  use: PartPlace | null;
  /** null: there is no result yet. */
  result: PartPlace | null;
  ms: number | null;
  words: CallWords;
  /** Of a call that waits. */
  waitsFor: CallWait;
}

/** An entry of the conversation; results have joined their answer. */
export interface SaidRow {
  kind: 'said';
  entry: Entry;
  /** The entry that a copy or a fork of this row ends with. */
  last: Entry;
  blocks: readonly PartPlace[];
  calls: readonly Call[];
}

/** Calls of many entries in a row, which are folded and unfolded together. */
export interface RunRow {
  kind: 'run';
  id: string;
  calls: readonly Call[];
  rows: readonly SaidRow[];
}

/** A turn that failed, after what it has in the list. */
export interface FailedRow {
  kind: 'failed';
  turn: ListedTurn;
  /** Whether the list has its prompt. */
  hasPrompt: boolean;
}

export type Row = SaidRow | RunRow | FailedRow;

/** From so many calls in a row on, they have a line of their own. */
const RUN_CALLS_MIN = 4;

export function idOfRow(row: Row): string {
  if (row.kind === 'failed') return row.turn.id;
  return row.kind === 'run' ? `run ${row.id}` : row.entry.id;
}

/** The rows of entries and of turns that failed, both oldest first. */
export function rowsOf(entries: readonly Entry[], failed: readonly ListedTurn[] = []): Row[] {
  const rows: (SaidRow | FailedRow)[] = joinedRows(entries);
  for (const turn of failed) {
    const hasPrompt = entries.some(({ turnId, kind }) => turnId === turn.id && kind === 'prompt');
    const before = rows.findLastIndex(
      (row) => row.kind === 'failed' || row.entry.turnId === turn.id || row.entry.createdAt < turn.startedAt,
    );
    rows.splice(before + 1, 0, { kind: 'failed', turn, hasPrompt });
  }
  const joined = runsOf(rows, (row) => (row.kind === 'said' ? callsAloneOf(row) : null), RUN_CALLS_MIN);
  return joined.map((row): Row => {
    if ('kind' in row) return row;
    const said = row.items.filter((item) => item.kind === 'said');
    const calls = said.flatMap((item) => item.calls);
    return { kind: 'run', id: said[0]?.entry.id ?? '', calls, rows: said };
  });
}

const NOT_WELL: ReadonlySet<Call['state']> = new Set(['failed', 'unknown']);

/** The rows that are shown: those of a folded run are not, but for calls that did not end well. */
export function shownRows(rows: readonly Row[], isOpen: (run: RunRow) => boolean): Row[] {
  return rows.flatMap((row): Row[] => {
    if (row.kind !== 'run') return [row];
    const shown = isOpen(row)
      ? row.rows
      : row.rows.filter(({ calls }) => calls.some(({ state }) => NOT_WELL.has(state)));
    return [row, ...shown];
  });
}

/** Whether a row is nothing but calls and thinking. */
export function callsAloneOf({ calls, blocks }: SaidRow): readonly Call[] | null {
  return calls.length > 0 && blocks.every(({ block }) => block.type === 'thinking' || textOf(block).trim() === '')
    ? calls
    : null;
}

function textOf({ type, text }: EntryContent): string {
  return type === 'text' && typeof text === 'string' ? text : type;
}

function joinedRows(entries: readonly Entry[]): SaidRow[] {
  const rows: SaidRow[] = [];
  for (const entry of entries) {
    const places = entry.content.map((block, index) => ({ block, entryId: entry.id, n: index + 1 }));
    const results = places.filter(({ block }) => block.type === 'tool_result');
    const before = rows.at(-1);
    const known = new Map(before?.last.kind === 'answer' ? before.calls.map((call) => [call.id, call]) : []);
    if (
      before !== undefined &&
      results.length === places.length &&
      results.every(({ block }) => known.has(idOf(block)))
    ) {
      rows[rows.length - 1] = {
        ...before,
        last: entry,
        calls: before.calls.map((call) => withResult(call, entry, results)),
      };
      continue;
    }
    const uses = places.filter(({ block }) => block.type === 'tool_use');
    const calls = [
      ...uses.map((use): Call => ({ ...factsOf(entry, use), name: String(use.block['name']), use, result: null })),
      ...results.map((result): Call => ({ ...factsOf(entry, result), name: 'result', use: null, result })),
    ];
    const blocks = places.filter(({ block }) => block.type !== 'tool_use' && block.type !== 'tool_result');
    rows.push({ kind: 'said', entry, last: entry, blocks, calls });
  }
  return rows;
}

function idOf(block: EntryContent): string {
  return String(block.type === 'tool_use' ? block['id'] : block['tool_use_id']);
}

function withResult(call: Call, entry: Entry, results: readonly PartPlace[]): Call {
  const result = results.find(({ block }) => idOf(block) === call.id);
  return result === undefined ? call : { ...call, ...factsOf(entry, result, call.words), result };
}

/** How a call ended, and how long it took; of one that is not kept, what its result says. */
function factsOf(
  { calls }: Entry,
  { block }: PartPlace,
  before: CallWords = { input: null, result: null },
): Pick<Call, 'id' | 'state' | 'ms' | 'words' | 'waitsFor'> {
  const id = idOf(block);
  const known = calls.find((call) => call.id === id);
  const isUse = block.type === 'tool_use';
  const words = { ...before, [isUse ? 'input' : 'result']: known?.words ?? null };
  if (known !== undefined)
    return { id, state: known.state, ms: callMs(known.state, known), words, waitsFor: known.waitsFor };
  const state = isUse ? 'unknown' : block['is_error'] === true ? 'failed' : 'done';
  return { id, state, ms: null, words, waitsFor: null };
}

/** The texts of a result, which can have images, too. */
export function resultText({ content }: EntryContent): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as { text?: unknown }[]).flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join('\n');
}

/** The images among these blocks and in their results. */
export function imagesOf(block: EntryContent): Readonly<Record<string, unknown>>[] {
  const inside = Array.isArray(block['content']) ? (block['content'] as EntryContent[]) : [block];
  return inside.filter(({ type }) => type === 'image');
}
