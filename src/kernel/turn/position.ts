// The position of a turn: the facts that the database has confirmed, and the writes that move it.
// Only `advance` makes a new position, from the previous one and a write that is committed, and
// only the turn's journal (opened-turn.ts) calls it.
import type { ContentBlock } from '../../core/content.ts';
import { estimateTokens } from '../../core/content-size.ts';
import type { EntryKind, Entry } from '../../core/entry.ts';
import type { EntryId } from '../../core/ids.ts';
import type { ModelAnswer } from '../../core/model-request.ts';
import { newId } from '../../ids.ts';
import type { TurnEffect } from '../effects/turn-effects.ts';
import type { NewEvent } from '../events/events.ts';
import type { WaitingInput, EarlierPark } from '../sessions/claim-session.ts';
import type {
  JournalWrite,
  ModelCallRow,
  NewEntry,
  TakenSteers,
  TurnProgress,
  ToolSettlement,
  TurnEnd,
} from './journal/journal.ts';
import type { HoldCode } from '../../core/statuses.ts';
import { withCallCost } from '../../core/prices.ts';
import type { PruningView, SessionView } from '../../core/view.ts';

// What one write of a turn stores, and what its end means. The parts of the turn make writes as
// values, and `joined` puts several into one statement; the turn's journal (opened-turn.ts) adds
// the fence and the totals, sends it, and moves the turn past it.

type JournalRows = Pick<
  JournalWrite,
  'entries' | 'modelCalls' | 'toolIntents' | 'heldIntents' | 'toolSettlements' | 'events'
>;

export interface TurnWrite extends Readonly<JournalRows> {
  /**
   * The counts that change; absolute. What its model calls add to the tokens and the cost of the
   * turn follows from their rows.
   */
  readonly totals: Readonly<Partial<Pick<TurnProgress, 'calls' | 'retries' | 'steps'>>>;
  /** Messages that join the turn; null: none. */
  readonly joining: { readonly inputs: readonly WaitingInput[]; readonly steers: TakenSteers } | null;
  /**
   * Tokens of the context that a compaction leaves which this write completes; null: it completes
   * none.
   */
  readonly compactedTo: number | null;
  /** False when the changes of the session's view are left to a later write. */
  readonly storesView: boolean;
}

/** An answer with what is known of its call, to be committed together. */
export interface AnsweredCall {
  answer: ModelAnswer;
  call: ModelCallRow;
  /** The events of a turn that has waited for it; absent: it has not. */
  resumed?: NewEvent[];
}

export type TurnResult = Pick<TurnEnd, 'status' | 'messageStatus' | 'reply' | 'error'> &
  Partial<Pick<TurnEnd, 'wasAborted' | 'deliveries' | 'hides' | 'hidesFromSeq' | 'hidesSummary' | 'collectMax'>> & {
    /** What it means for other sessions. */
    outreach?: readonly TurnEffect[];
    /** True when a message that wants to be next has ended the turn. */
    isInterrupted?: boolean;
    /**
     * True when the database has refused an end of this turn: what it knows beyond its rows is not
     * stored.
     */
    isBare?: boolean;
  };

/** What the end of a turn stores, and what it means. */
export interface EndDecision {
  write: TurnWrite;
  result: TurnResult;
}

/**
 * A write that stores only the turn's totals and view: other writes take the fields that they do
 * not set from here.
 */
export const NO_ROWS: TurnWrite = {
  entries: [],
  modelCalls: [],
  toolIntents: [],
  toolSettlements: [],
  events: [],
  totals: {},
  joining: null,
  compactedTo: null,
  storesView: true,
};

/** Two writes in one: the rows of the first before those of the second, whose totals hold. */
export function joined(first: TurnWrite, second: TurnWrite): TurnWrite {
  return {
    entries: [...first.entries, ...second.entries],
    modelCalls: [...first.modelCalls, ...second.modelCalls],
    toolIntents: [...first.toolIntents, ...second.toolIntents],
    ...joinedHolds(first, second),
    toolSettlements: [...first.toolSettlements, ...second.toolSettlements],
    events: [...first.events, ...second.events],
    totals: { ...first.totals, ...second.totals },
    joining: second.joining ?? first.joining,
    compactedTo: second.compactedTo ?? first.compactedTo,
    storesView: first.storesView && second.storesView,
  };
}

function joinedHolds(...writes: TurnWrite[]): Pick<TurnWrite, 'heldIntents'> {
  const heldIntents = writes.flatMap((write) => write.heldIntents ?? []);
  return heldIntents.length === 0 ? {} : { heldIntents };
}

export function newEntry(kind: EntryKind, role: 'user' | 'assistant', content: ContentBlock[]): NewEntry {
  return { id: newId<EntryId>(), kind, role, content };
}

export interface Position {
  readonly progress: Readonly<TurnProgress>;
  /**
   * The number of the session's last entry; higher than that of `lastEntry` when that one is hidden
   * or a summary.
   */
  readonly baseSeq: number;
  /** The end of the active path. */
  readonly lastEntry: Entry;
  /** The inputs that the turn answers, with the messages that have joined it. */
  readonly inputs: readonly WaitingInput[];
  /** The session's view as it is stored. */
  readonly sessionView: SessionView;
  /** The number of the last message that is meant for this turn. */
  readonly steerSeq: number;
  /**
   * True when the next model call is charged to the retry budget already. False after a takeover:
   * the call that an earlier attempt charged may have been made.
   */
  readonly isCharged: boolean;
  /**
   * The calls of the last answer whose results are in the ledger, but not in an entry yet: others
   * of the same answer still run.
   */
  readonly finishedCalls: readonly ToolSettlement[];
  /**
   * The calls of the last answer that wait for something outside and have not begun here, by their
   * places.
   */
  readonly heldCalls: ReadonlyMap<number, HoldCode>;
  /** The reason for which it was parked since the model's last answer; null: it was not. */
  readonly park: EarlierPark | null;
  readonly tokens: ContextTokens;
}

/**
 * The size of the context: the tokens that the provider reported for the last call, and an estimate
 * of those added since.
 */
export interface ContextTokens {
  /**
   * Tokens of the last request of this turn and its answer together; of the session while the turn
   * has none.
   */
  readonly last: number;
  /**
   * The same for the last call, of this turn or the one before, as long as pruning is unchanged;
   * null: unknown.
   */
  readonly reported: { readonly tokens: number; readonly pruning: PruningView | undefined } | null;
  /** An estimate of the entries since. */
  readonly added: number;
  /** The tokens that were left after a compaction of this turn; null: there was none. */
  readonly compacted: number | null;
}

export interface ConfirmedWrite {
  write: TurnWrite;
  sessionView: SessionView;
  steerSeq: number;
}

/**
 * The number of the next model call. An earlier attempt may have made the call that it charged:
 * this one charges its own (G16).
 */
export function nextCallNo({ isCharged, progress }: Position): number {
  return isCharged ? progress.calls : progress.calls + 1;
}

export function advance(position: Position, { write, sessionView, steerSeq }: ConfirmedWrite): Position {
  const progress = progressAfter(position.progress, write);
  const entries = pathEntries(position, write);
  return {
    progress,
    baseSeq: position.baseSeq + write.entries.length,
    lastEntry: entries.at(-1) ?? position.lastEntry,
    inputs: write.joining === null ? position.inputs : [...position.inputs, ...write.joining.inputs],
    sessionView,
    steerSeq,
    isCharged: isNextCharged(position, progress, write.modelCalls),
    finishedCalls: entries.length > 0 ? [] : [...position.finishedCalls, ...write.toolSettlements],
    heldCalls: heldAfter(position.heldCalls, write),
    park: progress.steps > position.progress.steps ? null : position.park,
    tokens: tokensAfter(position.tokens, { write, entries, pruning: sessionView.pruning }),
  };
}

/**
 * The totals of a turn after a write: every call counts whose end it stores, also one that failed.
 */
export function progressAfter(
  before: Readonly<TurnProgress>,
  { totals, modelCalls }: Pick<TurnWrite, 'totals' | 'modelCalls'>,
): TurnProgress {
  return modelCalls.reduce(withCall, { ...before, ...totals });
}

function withCall(total: TurnProgress, call: ModelCallRow): TurnProgress {
  return {
    ...total,
    ...withCallCost(total, call),
    inputTokens: total.inputTokens + call.inputTokens,
    outputTokens: total.outputTokens + call.outputTokens,
    cacheReadTokens: total.cacheReadTokens + call.cacheReadTokens,
    cacheWriteTokens: total.cacheWriteTokens + call.cacheWriteTokens,
  };
}

/** Tokens of the last request and its answer together, after a write. */
export function lastTokensAfter({ tokens }: Position, { compactedTo, modelCalls }: TurnWrite): number {
  return compactedTo ?? answerTokens(modelCalls) ?? tokens.last;
}

/**
 * The entries that a write adds to the end of the active path. A summary is placed at its
 * beginning.
 */
export function pathEntries(position: Position, { entries }: Pick<TurnWrite, 'entries'>): Entry[] {
  const { turnId } = position.progress;
  let parentSeq = position.lastEntry.seq;
  return entries.flatMap((added, index): Entry[] => {
    if (added.kind === 'summary') return [];
    const entry: Entry = { ...added, seq: position.baseSeq + 1 + index, parentSeq, turnId };
    parentSeq = entry.seq;
    return [entry];
  });
}

const NONE_HELD: Position['heldCalls'] = new Map();

/**
 * A call that begins to run waits no longer, unless it answers later; results of a batch end all of
 * it.
 */
function heldAfter(
  before: Position['heldCalls'],
  { heldIntents = [], toolIntents, entries }: TurnWrite,
): Position['heldCalls'] {
  if (before.size === 0 && heldIntents.length === 0) return before;
  if (entries.some(({ kind }) => kind === 'results')) return NONE_HELD;
  const begun = new Set(toolIntents.map(({ ordinal }) => ordinal));
  const left = [...before].filter(([ordinal]) => !begun.has(ordinal));
  return new Map([...left, ...heldIntents.map(({ ordinal, code }) => [ordinal, code] as const)]);
}

/** A call is charged by a write that counts it, and used up by the write that stores its end. */
function isNextCharged(position: Position, { calls }: TurnProgress, ended: readonly ModelCallRow[]): boolean {
  const isUsed = ended.some(({ callNo }) => callNo >= calls);
  return !isUsed && (position.isCharged || calls > position.progress.calls);
}

function tokensAfter(
  before: ContextTokens,
  { write, entries, pruning }: { write: TurnWrite; entries: readonly Entry[]; pruning: PruningView | undefined },
): ContextTokens {
  const { compactedTo } = write;
  if (compactedTo !== null) return { ...before, last: compactedTo, reported: null, compacted: compactedTo };
  // The provider has reported the tokens of an answer.
  const added = estimateTokens(entries.filter(({ kind }) => kind !== 'answer'));
  const tokens = answerTokens(write.modelCalls);
  if (tokens === null) return { ...before, added: before.added + added };
  return { ...before, last: tokens, reported: { tokens, pruning }, added };
}

/** The usage that the provider reported for an answer among these calls; null: there is none. */
export function answerTokens(calls: readonly ModelCallRow[]): number | null {
  const answered = calls.find(({ status, purpose }) => status === 'ok' && purpose === undefined);
  if (answered === undefined) return null;
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = answered;
  return inputTokens + cacheReadTokens + cacheWriteTokens + outputTokens;
}
