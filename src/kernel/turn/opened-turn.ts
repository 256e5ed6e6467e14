// A turn that is open: the facts that do not change while it runs, and the journal with its
// position. Every field is readonly; a test holds that (test/architecture.test.ts). How full its
// context is follows from both.
import { given } from '../../core/json.ts';
import { optionsOfInputs } from '../../core/input-options.ts';
import type { TurnKind } from '../../core/statuses.ts';
import { type AgentSettings, type Lane, factsOfModel, type Config } from '../../config.ts';
import type { TurnId } from '../../core/ids.ts';
import type { ClaimedSession } from '../sessions/claimed-session.ts';
import type { LedgerRow, WaitingInput, OpenHop } from '../sessions/claim-session.ts';
import type { Toolset } from '../../tools/toolset.ts';
import type { Tracing, TurnRef } from '../../tracing.ts';
import { type HeldSession, lockLost } from './held-session.ts';
import type { Transcript } from './transcript-cache.ts';
import type { TurnFailed } from './turn-stop.ts';
import type { MeteredTurn } from './turn-meter.ts';
import type { RequestBase } from '../../core/model-request.ts';
import { type CompactionReason, thresholdTokens } from '../../compaction/plan-compaction.ts';
import { type ModelTraits, refOfModel } from '../../core/models.ts';
import type { FallbackView, SessionView } from '../../core/view.ts';
import type { NewEvent } from '../events/events.ts';
import type { JournalWrite, ModelCallRow } from './journal/journal.ts';
import { advance, pathEntries, progressAfter, type Position, type TurnWrite } from './position.ts';
import type { RequestView } from './request-view.ts';
import { fitLimits, type ThinkingRequest } from '../../core/thinking-request.ts';
import { estimatePromptTokens, estimateTokens } from '../../core/content-size.ts';

export interface OpenedTurn {
  readonly id: TurnId;
  /** The kind that the API shows; a `compaction` asks only for a summary. */
  readonly kind: TurnKind;
  readonly session: ClaimedSession;
  readonly agent: AgentSettings;
  readonly held: HeldSession;
  /** The models that it may ask as `provider/model`, the one that it was opened with first. */
  readonly chain: readonly string[];
  readonly toolset: Toolset;
  /** How much its model thinks. */
  readonly thinking: string;
  /** The active path up to the last committed entry. */
  readonly transcript: Transcript;
  /** Set when the turn cannot be run at all: it ends with this. */
  readonly failure: TurnFailed | null;
  /** The rows of the last step's calls in the ledger; empty unless an earlier worker left them. */
  readonly ledger: readonly LedgerRow[];
  readonly journal: TurnJournal;
}

/**
 * The lane whose place in a rate limit its calls take: items of a batch are calls of the lane
 * `batch` in every session.
 */
export function laneOf({ kind, session }: Pick<MeteredTurn, 'kind' | 'session'>): Lane {
  return kind === 'batch' ? 'batch' : session.lane;
}

/** The facts from which the trace of a turn is made. */
export function originOfTurn({ id, journal }: OpenedTurn): TurnRef {
  return { id, inputs: journal.at.inputs };
}

/** How log lines name a turn: with its trace and its tags, when it has some. */
export function pickLogIds(context: { tracing: Tracing | null }, turn: OpenedTurn) {
  return logIdsOfOrigin(context, { id: turn.id, inputs: turn.journal.at.inputs }, turn.session.key);
}

/** The log ids of a turn that is not open yet. */
export function logIdsOfOrigin(
  { tracing }: { tracing: Tracing | null },
  origin: { id: TurnId; inputs: readonly WaitingInput[] },
  sessionKey: string,
) {
  const { tags } = optionsOfInputs(origin.inputs);
  const ids = { turnId: origin.id, ...tracing?.idsOf(origin), sessionKey };
  return tags === undefined ? ids : { ...ids, tags };
}

// The journal of one turn as its worker writes it, and the only place where a running turn moves.
// It has two readonly records:
//
//   at        the position of the turn: what the database has confirmed. Replaced only in `store`,
//             by `advance`, after the answer
//   attempt   what this worker knows in addition: the model that it asks now, the values of the
//             next write. Replaced only in `note`. If the worker crashes, the next one decides it
//             again
//
// They are held here and not passed from function to function, because an error must not lose them:
// a step that throws after its third commit leaves the position of that commit to the end of the
// turn.

export interface Attempt {
  /** The request's settings for the model that is asked now. */
  readonly request: RequestBase;
  /**
   * The messages of its requests; the rules that the opening fixed for them are in
   * `requests.rules.view`.
   */
  readonly requests: RequestView;
  /** What is known of how the model that is asked now takes requests, by what it has refused. */
  readonly traits: ModelTraits;
  /** Set when the turn has stepped down to another model. */
  readonly fallback: FallbackView | null;
  /**
   * The session's view; the next write stores it when it is another object than that of the
   * position.
   */
  readonly sessionView: SessionView;
  /** Events about the model that is asked now, which are stored with its first call. */
  readonly unstoredEvents: readonly NewEvent[];
  /**
   * A model call without an answer that is not in the journal yet: the end of the turn stores it.
   */
  readonly unstoredCall: ModelCallRow | null;
  /** The last number that a model call of a tool has taken; 0: none has. */
  readonly paidCallNo: number;
  /**
   * Its model call that goes through a batch of the provider, until its answer is used; null: none.
   */
  readonly hop: OpenHop | null;
  /** How long the next call has waited for a rate limit or a block, in milliseconds. */
  readonly rateWaitMs: number;
  /** The number of the last message that a query for new ones has covered. */
  readonly steersSeen: number;
  /** True while a compaction is running: the turn's deadline then waits for it once. */
  readonly isCompacting: boolean;
  /**
   * The reason of a compaction that an earlier worker of the turn left in the middle; null: none.
   */
  readonly interruptedCompaction: CompactionReason | null;
  /** True when this turn no longer compacts, unless the provider refuses a request. */
  readonly hasGivenUpCompacting: boolean;
}

interface JournalOwner {
  readonly session: ClaimedSession;
  readonly held: HeldSession;
  readonly transcript: Transcript;
  readonly checks: readonly { stored?(turnId: TurnId): Promise<void> }[];
}

type Fenced = { kind: 'fenced' };

export class TurnJournal {
  readonly #owner: JournalOwner;
  #at: Position;
  #attempt: Attempt;

  constructor(owner: JournalOwner, at: Position, attempt: Attempt) {
    this.#owner = owner;
    this.#at = at;
    this.#attempt = attempt;
  }

  get at(): Position {
    return this.#at;
  }

  get attempt(): Attempt {
    return this.#attempt;
  }

  /** Changes what this worker knows in addition to what is stored. */
  note(change: Partial<Attempt>): void {
    this.#attempt = { ...this.#attempt, ...change };
  }

  /**
   * Sends a write and moves the turn past it. Resolves with the answer of the statement. Throws
   * `TurnStopped` (`lock-lost`) when this worker no longer holds the session, and whatever `send`
   * throws: the turn then stays where it is.
   */
  async store<Answer extends { kind: string; steerSeq?: number }>(
    write: TurnWrite,
    send: (rows: JournalWrite) => Promise<Answer | Fenced>,
  ): Promise<Exclude<Answer, Fenced>> {
    const rows = this.#toRows(write);
    const answer = await send(rows);
    if (isFenced(answer)) throw lockLost(this.#owner.held);
    // A compaction that is resumed, not begun, has written nothing.
    if (answer.kind !== 'answered' && answer.kind !== 'exhausted') this.#moveTo(write, rows, answer.steerSeq);
    if (rows.modelCalls.length > 0) for (const check of this.#owner.checks) await check.stored?.(rows.progress.turnId);
    // Not `fenced`, as was just asked.
    return answer as Exclude<Answer, Fenced>;
  }

  #toRows({ totals, joining, compactedTo: _compacted, storesView, ...rows }: TurnWrite): JournalWrite {
    const { session, held } = this.#owner;
    const { sessionView, unstoredEvents } = this.#attempt;
    return {
      ...rows,
      ...(hasCallOfFallback(rows) ? { events: [...unstoredEvents, ...rows.events] } : undefined),
      fence: { sessionId: session.id, epoch: held.epoch, baseSeq: this.#at.baseSeq },
      progress: progressAfter(this.#at.progress, { totals, modelCalls: rows.modelCalls }),
      ...(joining === null ? undefined : { steers: joining.steers }),
      ...(storesView && sessionView !== this.#at.sessionView ? { sessionView } : undefined),
    };
  }

  #moveTo(write: TurnWrite, rows: JournalWrite, steerSeq = this.#at.steerSeq): void {
    for (const entry of pathEntries(this.#at, write)) this.#owner.transcript.push(entry);
    this.#at = advance(this.#at, { write, sessionView: rows.sessionView ?? this.#at.sessionView, steerSeq });
    if (write.modelCalls.some((call) => call === this.#attempt.unstoredCall)) this.note({ unstoredCall: null });
    if (hasCallOfFallback(write)) this.note({ unstoredEvents: [] });
  }
}

function hasCallOfFallback({ modelCalls }: Pick<TurnWrite, 'modelCalls'>): boolean {
  return modelCalls.some(({ view }) => view?.fallback !== undefined);
}

function isFenced(answer: { kind: string }): answer is Fenced {
  return answer.kind === 'fenced';
}

// How full the context of a turn is, by what is known of its room. Where the provider reported
// nothing (after a takeover or a compaction), all of it is an estimate.

/** Tokens of the turn's next request, about. */
export function estimateNextRequest(turn: OpenedTurn): number {
  const { at, attempt } = turn.journal;
  const { reported, added } = at.tokens;
  // If more is pruned, the reported tokens are those of other messages.
  if (reported !== null && reported.pruning === attempt.sessionView.pruning) return reported.tokens + added;
  return overheadTokens(turn) + estimateTokens(attempt.requests.messages);
}

/** Estimated tokens of every request of the turn in addition to its messages. */
export function overheadTokens({ journal }: OpenedTurn): number {
  return estimatePromptTokens(journal.attempt.request);
}

/** True when the turn's next request would need some of the reserved tokens. */
export function isFull(turn: OpenedTurn): boolean {
  return estimateNextRequest(turn) > thresholdTokens({ ...turn.agent.compaction, contextTokens: usedWindow(turn) });
}

/**
 * How much of the window the agent uses: less where the server of the model has named a smaller
 * one.
 */
export function usedWindow({ agent, journal }: OpenedTurn): number {
  return Math.min(agent.contextTokens, journal.attempt.traits.contextTokens ?? Infinity);
}

/**
 * How much the estimate of a request may be too low: so much of it, but no more than so many
 * tokens.
 */
const MARGIN_SHARE = 0.25;

const MARGIN_TOKENS_MAX = 4_000;

/**
 * The limits of the next request, as far as its window has room for an answer; the same object
 * where it has room for those of the turn.
 */
export function fitToWindow({ models }: Pick<Config, 'models'>, turn: OpenedTurn): ThinkingRequest {
  const { request, traits } = turn.journal.attempt;
  const { maxTokens, thinking, effort } = request;
  const known = factsOfModel({ models }, refOfModel(request))?.contextTokens ?? turn.agent.contextTokens;
  const promptTokens = estimateNextRequest(turn);
  const margin = Math.min(promptTokens * MARGIN_SHARE, MARGIN_TOKENS_MAX);
  const roomTokens = Math.min(known, traits.contextTokens ?? Infinity) - promptTokens - margin;
  return fitLimits({ maxTokens, ...given({ thinking, effort }) }, roomTokens);
}
