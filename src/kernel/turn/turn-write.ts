// What one write of a turn stores. The parts of the turn make writes as values, and `joined` puts several into one statement; the turn's
// journal (turn-journal.ts) adds the fence and the totals, sends it, and moves the turn past it.
import type { ContentBlock } from '../../core/content.ts';
import type { EntryKind } from '../../core/entry.ts';
import type { EntryId } from '../../core/ids.ts';
import { newId } from '../../ids.ts';
import type { WaitingInput } from '../sessions/claim-session.ts';
import type { JournalWrite, NewEntry, TakenSteers, TurnProgress } from './journal/journal.ts';

type JournalRows = Pick<JournalWrite, 'entries' | 'modelCalls' | 'toolIntents' | 'toolSettlements' | 'events'>;

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
    toolSettlements: [...first.toolSettlements, ...second.toolSettlements],
    events: [...first.events, ...second.events],
    totals: { ...first.totals, ...second.totals },
    joining: second.joining ?? first.joining,
    compactedTo: second.compactedTo ?? first.compactedTo,
    storesView: first.storesView && second.storesView,
  };
}

export function newEntry(kind: EntryKind, role: 'user' | 'assistant', content: ContentBlock[]): NewEntry {
  return { id: newId<EntryId>(), kind, role, content };
}
