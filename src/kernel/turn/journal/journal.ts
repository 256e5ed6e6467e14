// The journal: how a turn becomes rows, one statement per step, so that if a worker crashes,
// another one resumes after the last committed step.
//
//   open-turn     the turn, its stamped inputs, its drained events and its prompt before the first
//                 model call
//   commit-step   a model answer with the intents of its tool calls before a tool runs
//   commit-step   the results of a batch of tool calls (or of one that finished early) before the
//                 next model call
//   finish-turn   the end of the turn with its result: the last answer, what follows from it, and
//                 the release of the lock
//
// Three things make each of them safe:
//   - Fence: the statement locks the session row and writes nothing unless the row still has the
//     epoch of the claim (G7).
//   - Position: the statement says how many entries the session had (`baseSeq`). A row that is
//     already at `baseSeq + n` under our epoch contains this write: the first sending was
//     committed, but its answer was lost. The verdict is `ok`, and nothing is written twice. All
//     other values are absolute, never increments.
//   - Signals return with the same round trip: whether to stop, and how many messages wait.
//
// Statements are shared by all turns of a worker (`shareStatement`). Nothing else in Holdfast
// writes entries, turns, model calls or tool calls, but for the request to a batch of the provider,
// which charges its call (features/provider-batches/store/store-request.ts).
import type { HoldCode, SessionStop } from '../../../core/statuses.ts';
import type { CallPurpose, AnswerRepair } from '../../../core/model-request.ts';
import type { ContentBlock } from '../../../core/content.ts';
import type { EntryKind, EntryProvenance } from '../../../core/entry.ts';
import type { EntryId, MessageId, SessionId, TurnId, DeliveryId } from '../../../core/ids.ts';
import type { CostTotal, PriceTier } from '../../../core/prices.ts';
import type { CallView, SessionView } from '../../../core/view.ts';
import type { NewEvent } from '../../events/events.ts';
import type { TurnEffect } from '../../effects/turn-effects.ts';

/** The right to write, as it was claimed. */
export interface Fence {
  sessionId: SessionId;
  epoch: number;
  /** The session's last entry number as this turn knows it. */
  baseSeq: number;
}

export interface NewEntry {
  id: EntryId;
  kind: EntryKind;
  role: 'user' | 'assistant';
  content: ContentBlock[];
  /** The origin of a message of another session that joins a running turn. */
  provenance?: EntryProvenance | null;
  /** True when no later request shows it; only the last entry of a turn can be born so. */
  isPruned?: boolean;
}

/** Absolute totals of a turn, as of this write. */
export interface TurnProgress extends CostTotal {
  turnId: TurnId;
  /** Model calls begun, including the one that this write charges. */
  calls: number;
  retries: number;
  steps: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
}

/** Measurements of a model call, and the repairs of its answer. */
export interface CallNotes {
  requestBytes: number;
  responseBytes: number;
  /**
   * From the sending of the request to the first byte of its answer, in milliseconds; null: there
   * was no answer.
   */
  firstByteMs: number | null;
  durationMs: number;
  /** The name of the key that was used; absent: its provider has none by name. */
  key?: string;
  /** How long it had waited for a rate limit or a block before it was made; absent: it had not. */
  rateWaitMs?: number | undefined;
  repairs?: readonly AnswerRepair[] | undefined;
  /** Why it was made live where a batch of the provider was possible. */
  way?: string;
}

export interface ModelCallRow {
  callNo: number;
  step: number;
  /** The model that was asked, as `provider/model`. */
  model: string;
  /** The purpose of the call; absent: an answer of the turn. */
  purpose?: CallPurpose;
  view: CallView | null;
  /** The hash of the sent request. */
  requestSha256: string | null;
  /** The last entry of the request. */
  untilSeq: number;
  status: 'ok' | 'failed' | 'aborted';
  stopReason: string | null;
  responseId: string | null;
  error: Record<string, unknown> | null;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  cacheWrite1hTokens: number;
  /** Null: not known. */
  costMicros: number | null;
  /** The version of the price table that gave the cost; null: none did. */
  priceVersion: string | null;
  tier: PriceTier;
  /** True when it broke off: its tokens are those that were reported until then. */
  isEstimated: boolean;
  /** True when the scripted model has answered it. */
  isSimulated: boolean;
  startedAt: Date;
  firstChunkAt: Date | null;
  endedAt: Date;
  /** Absent: it was never sent. */
  notes?: CallNotes;
}

export interface ToolIntent {
  step: number;
  ordinal: number;
  callId: string;
  name: string;
  isIdempotent: boolean;
  /**
   * `intent`: it runs after this write. Otherwise how it ended: it only looked, and was over before
   * this write.
   */
  status: 'intent' | 'done' | 'failed';
}

/**
 * A call that waits for something outside before it runs or has a result: its row has 0 runs, also
 * that of one which has begun and answers later.
 */
export interface HeldIntent extends Omit<ToolIntent, 'status'> {
  code: HoldCode;
  forMs: number;
  /** What a feature stores with it. */
  facts?: unknown;
  events: readonly NewEvent[];
  /** True: a webhook is to be sent about it (held-notices.ts). */
  isNoticed: boolean;
}

export interface ToolSettlement {
  step: number;
  ordinal: number;
  status: 'done' | 'failed' | 'unknown' | 'skipped';
  /**
   * Only for a call that finished before its batch did; otherwise the entry of the batch has it.
   */
  result: { content: unknown; isError: boolean } | null;
}

/**
 * The result of a write of a running turn. `fenced`: this worker no longer holds the session; stop
 * immediately and write nothing.
 */
export type Verdict = { kind: 'ok'; stop: SessionStop | null; waiting: number; steerSeq: number } | { kind: 'fenced' };

/** Messages that join a running turn, and the follow-ups that some of them leave. */
export interface TakenSteers {
  ids: MessageId[];
  /** New inputs of the same session, one for each message that also gets a turn of its own. */
  followUps: { id: MessageId; causeKey: string; body: string; route: string }[];
}

/** What is common to every write of a turn. */
export interface JournalWrite {
  fence: Fence;
  progress: TurnProgress;
  entries: NewEntry[];
  modelCalls: ModelCallRow[];
  toolIntents: ToolIntent[];
  toolSettlements: ToolSettlement[];
  events: NewEvent[];
  /** Calls that wait for something outside. Absent: none. */
  heldIntents?: readonly HeldIntent[];
  /** Waiting messages that the write takes into the turn. Absent: none. */
  steers?: TakenSteers;
  /** The session's view when this write changes it. */
  sessionView?: SessionView;
}

// The end of a turn, as `finish-turn` writes it.

export interface NewDelivery {
  id: DeliveryId;
  channel: string;
  target: Record<string, unknown>;
  payload: object;
  expiresMs: number;
}

export interface TurnEnd extends JournalWrite {
  status: 'completed' | 'silent' | 'failed' | 'aborted' | 'timedOut';
  messageStatus: 'answered' | 'silent' | 'failed' | 'cancelled';
  reply: string | null;
  /** The model that answered, where that is not the one that the turn was opened with. */
  answeredModel?: string;
  /** `{code, message}`; null after a good end. */
  error: { code: string; message: string } | null;
  /** True when the user stopped it: the next prompt mentions it. */
  wasAborted: boolean;
  /** Tokens of the last request and its answer together. */
  contextTokens: number;
  deliveries: NewDelivery[];
  /**
   * What leaves the active path; the rows stay. `refused`: the entries from `hidesFromSeq` on,
   * which the provider refuses and which would fail the turns after it, too. `turn`: all that it
   * said was rolled back. `poll`: it answered a heartbeat, and there is nothing to remember of it.
   * Null: nothing.
   */
  hides: 'refused' | 'turn' | 'poll' | null;
  hidesFromSeq?: number;
  /**
   * A summary that the provider refuses. `isUndone`: the entries that it replaced before
   * `hidesFromSeq` are active again, so the next compaction writes another one; else they stay
   * compacted.
   */
  hidesSummary?: { seq: number; isUndone: boolean };
  /**
   * Set when its inputs are not settled but wait again: the most of them that a turn takes from now
   * on, until none waits any more. Absent: they are settled.
   */
  collectMax?: number;
  deadLetter: { id: string; code: string; reason: string } | null;
  /**
   * Waiting messages are collected until none has arrived for this long, in milliseconds, but no
   * longer than `gatherMsMax`. 0: the doorbell is rung immediately, as it is for a message that was
   * meant for this turn and arrived after `steerSeen`, and when as many messages wait as one turn
   * may contain (`cap`).
   */
  debounceMs: number;
  /** The debounce if an announcement waits first; absent: `debounceMs`. */
  announceDebounceMs?: number;
  gatherMsMax: number;
  cap: number;
  steerSeen: number;
  ended: NewEvent;
  /** What it leaves to be done beside its own session. */
  effects: readonly NewEffect[];
}

/** An effect with its id, which is made once. */
export type NewEffect = { id: string } & TurnEffect;
