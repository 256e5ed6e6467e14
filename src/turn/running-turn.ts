// A turn while it runs: what is fixed, and the few things that move. Only `commit` (commit.ts) and the end of a turn move them, and
// only after the database has said yes.
import type { TurnKind } from '../core/turn-kind.ts';
import type { AgentSettings } from '../config.ts';
import type { ContentBlock } from '../core/content.ts';
import type { Entry, EntryKind } from '../core/entry.ts';
import type { EntryId, TurnId } from '../core/ids.ts';
import { estimateTokens } from '../core/token-estimate.ts';
import type { FallbackView, SessionView } from '../core/view.ts';
import { newId } from '../ids.ts';
import type { ClaimedSession } from '../store/claimed-session.ts';
import type { JournalWrite, ModelCallRow, NewEntry, TurnProgress } from '../store/journal.ts';
import type { EarlierPark, LedgerRow, WaitingInput } from '../store/claim-session.ts';
import type { Toolset } from '../tools/toolset.ts';
import type { RequestBase } from './context.ts';
import type { ContextRoom } from './compact/context-room.ts';
import type { HeldSession } from './held-session.ts';
import type { RequestView } from './request-view.ts';
import type { Transcript } from './transcript-cache.ts';
import { TurnStopped, type TurnFailed } from './turn-end.ts';

export interface RunningTurn {
  readonly id: TurnId;
  /** As the API shows it; a `compaction` asks the model nothing but a summary. */
  readonly kind: TurnKind;
  readonly session: ClaimedSession;
  readonly agent: AgentSettings;
  readonly held: HeldSession;
  readonly inputs: WaitingInput[];
  /** Of the model that is asked now. */
  request: RequestBase;
  /** The models that it may ask as `provider/model`, the one that it was opened with first. */
  readonly chain: readonly string[];
  /** Set when it has stepped down to another model. */
  fallback: FallbackView | null;
  readonly toolset: Toolset;
  /** How much its model thinks. */
  readonly thinking: string;
  /** The messages of its requests; what the opening fixed for them is in `requests.rules.view`. */
  requests: RequestView;
  /** The session's view, and whether the next write has to store it: change it with `changeSessionView`. */
  sessionView: SessionView;
  isSessionViewChanged: boolean;
  /** The active path up to the last committed entry. */
  readonly transcript: Transcript;
  /** The end of the active path. */
  lastEntry: Entry;
  /** The number of the session's last entry; higher than that of `lastEntry` when that one is out of sight or a summary. */
  baseSeq: number;
  /** Set when the turn cannot be run at all: it ends with this. */
  readonly failure: TurnFailed | null;
  progress: TurnProgress;
  /** Tokens of the last request and its answer together. */
  contextTokens: number;
  /** How full the context is. */
  readonly room: ContextRoom;
  /** What the ledger says of the last step's calls; empty unless an earlier worker left them. */
  ledger: LedgerRow[];
  /** Messages that are meant for this turn: the number of the last that is known, and of the last that was looked for. */
  steers: { known: number; seen: number };
  /** True until the first model call of this attempt: a call that an earlier attempt charged may have been made. */
  mustCharge: boolean;
  /** Model calls that ended in silence, since the last answer of this attempt. */
  idleTimeoutsInARow: number;
  /** What it was parked for since the model answered last; null: it was not. */
  park: EarlierPark | null;
  /** A model call without an answer that is not in the journal yet; the end of the turn writes it. */
  callWithoutAnswer: ModelCallRow | null;
}

/** The part of a write that differs from step to step. */
export type Moment = Partial<Omit<JournalWrite, 'fence' | 'progress'>> & { progress?: Partial<TurnProgress> };

/** Changes what the session's requests have fixed; the next write of the turn stores it. */
export function changeSessionView(turn: RunningTurn, change: Partial<SessionView>): void {
  turn.sessionView = { ...turn.sessionView, ...change };
  turn.isSessionViewChanged = true;
}

/** The journal write of a step, with the defaults for everything that the step does not set. */
export function writeOf(turn: RunningTurn, moment: Moment): JournalWrite {
  return {
    fence: { sessionId: turn.session.id, epoch: turn.held.epoch, baseSeq: turn.baseSeq },
    progress: { ...turn.progress, ...moment.progress },
    entries: moment.entries ?? [],
    modelCalls: moment.modelCalls ?? [],
    toolIntents: moment.toolIntents ?? [],
    toolSettlements: moment.toolSettlements ?? [],
    events: moment.events ?? [],
    ...(moment.steers === undefined ? undefined : { steers: moment.steers }),
    ...(turn.isSessionViewChanged ? { sessionView: turn.sessionView } : undefined),
  };
}

/** Advances a turn past a committed write. */
export function advanceTurn(turn: RunningTurn, write: JournalWrite): void {
  turn.progress = write.progress;
  if (write.sessionView === turn.sessionView) turn.isSessionViewChanged = false;
  if (write.modelCalls.some((call) => call === turn.callWithoutAnswer)) turn.callWithoutAnswer = null;
  for (const added of write.entries) {
    const entry: Entry = { ...added, seq: turn.baseSeq + 1, parentSeq: turn.lastEntry.seq, turnId: turn.id };
    turn.transcript.push(entry);
    turn.lastEntry = entry;
    // What an answer takes, the provider has reported.
    if (entry.kind !== 'answer') turn.room.newTokens += estimateTokens([entry]);
    turn.baseSeq = entry.seq;
  }
}

/** Makes an entry of this turn. */
export function newEntry(kind: EntryKind, role: 'user' | 'assistant', content: ContentBlock[]): NewEntry {
  return { id: newId<EntryId>(), kind, role, content };
}

/** Stops everything under a lock that is gone. */
export function lockLost(turn: Pick<RunningTurn, 'held'>): TurnStopped {
  const reason = { kind: 'lock-lost', message: 'Another worker holds the session.' } as const;
  turn.held.stop(reason);
  return new TurnStopped(reason);
}
