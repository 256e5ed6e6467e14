// What one write of a turn stores, and what its end means. The parts of the turn make writes as values, and `joined` puts several into one statement; the turn's
// journal (turn-journal.ts) adds the fence and the totals, sends it, and moves the turn past it.
import type { ContentBlock } from '../../core/content.ts';
import type { EntryKind } from '../../core/entry.ts';
import type { EntryId } from '../../core/ids.ts';
import type { ModelAnswer } from '../../core/model-request.ts';
import { newId } from '../../ids.ts';
import type { TurnEffect } from '../effects/turn-effects.ts';
import type { NewEvent } from '../events/events.ts';
import type { WaitingInput } from '../sessions/claim-session.ts';
import type { JournalWrite, ModelCallRow, NewEntry, TakenSteers, TurnProgress } from './journal/journal.ts';
import type { TurnEnd } from './journal/turn-end.ts';

type JournalRows = Pick<
  JournalWrite,
  'entries' | 'modelCalls' | 'toolIntents' | 'heldIntents' | 'toolSettlements' | 'events'
>;

export interface TurnWrite extends Readonly<JournalRows> {
  /** The counts that change; absolute. What its model calls add to the tokens and the cost of the turn follows from their rows. */
  readonly totals: Readonly<Partial<Pick<TurnProgress, 'calls' | 'retries' | 'steps'>>>;
  /** Messages that join the turn; null: none. */
  readonly joining: { readonly inputs: readonly WaitingInput[]; readonly steers: TakenSteers } | null;
  /** Tokens of the context that a compaction leaves which this write completes; null: it completes none. */
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
    /** True when the database has refused an end of this turn: what it knows beyond its rows is not stored. */
    isBare?: boolean;
  };

/** What the end of a turn stores, and what it means. */
export interface EndDecision {
  write: TurnWrite;
  result: TurnResult;
}

/** A write that stores only the turn's totals and view: other writes take the fields that they do not set from here. */
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
