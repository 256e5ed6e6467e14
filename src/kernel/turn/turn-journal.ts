// The journal of one turn as its worker writes it, and the only place where a running turn moves. It has two readonly records:
//
//   at        the position of the turn: what the database has confirmed. Replaced only in `store`, by `advance`, after the answer
//   attempt   what this worker knows in addition: the model that it asks now, the values of the next write. Replaced only in `note`.
//             If the worker crashes, the next one decides it again
//
// They are held here and not passed from function to function, because an error must not lose them: a step that throws after its third
// commit leaves the position of that commit to the end of the turn.
import type { TurnId } from '../../core/ids.ts';
import type { RequestBase } from '../../core/model-request.ts';
import type { CompactionReason } from '../../compaction/plan-compaction.ts';
import type { ModelTraits } from '../../core/model-traits.ts';
import type { FallbackView, SessionView } from '../../core/view.ts';
import type { OpenHop } from '../sessions/claim-session.ts';
import type { NewEvent } from '../events/events.ts';
import type { ClaimedSession } from '../sessions/claimed-session.ts';
import type { JournalWrite, ModelCallRow } from './journal/journal.ts';
import { lockLost, type HeldSession } from './held-session.ts';
import { advance, pathEntries, progressAfter, type Position } from './position.ts';
import type { RequestView } from './request-view.ts';
import type { Transcript } from './transcript-cache.ts';
import type { TurnWrite } from './turn-write.ts';

export interface Attempt {
  /** Of the model that is asked now. */
  readonly request: RequestBase;
  /** The messages of its requests; the rules that the opening fixed for them are in `requests.rules.view`. */
  readonly requests: RequestView;
  /** What is known of how the model that is asked now takes requests, by what it has refused. */
  readonly traits: ModelTraits;
  /** Set when the turn has stepped down to another model. */
  readonly fallback: FallbackView | null;
  /** The session's view; the next write stores it when it is another object than that of the position. */
  readonly sessionView: SessionView;
  /** Events about the model that is asked now, which are stored with its first call. */
  readonly unstoredEvents: readonly NewEvent[];
  /** A model call without an answer that is not in the journal yet: the end of the turn stores it. */
  readonly unstoredCall: ModelCallRow | null;
  /** The last number that a model call of a tool has taken; 0: none has. */
  readonly paidCallNo: number;
  /** Its model call that goes through a batch of the provider, until its answer is used; null: none. */
  readonly hop: OpenHop | null;
  /** How long the next call has waited for a rate limit or a block, in milliseconds. */
  readonly rateWaitMs: number;
  /** The number of the last message that a query for new ones has covered. */
  readonly steersSeen: number;
  /** True while a compaction is running: the turn's deadline then waits for it once. */
  readonly isCompacting: boolean;
  /** The reason of a compaction that an earlier worker of the turn left in the middle; null: none. */
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
   * Sends a write and moves the turn past it. Resolves with the answer of the statement. Throws `TurnStopped` (`lock-lost`) when this
   * worker no longer holds the session, and whatever `send` throws: the turn then stays where it is.
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
