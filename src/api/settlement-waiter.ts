// Waits for messages to be settled, for every request that waits (`Prefer: wait`) in one place: one query serves all of them. A turn
// that ends in this process reports how its messages ended. Otherwise the waiter queries: immediately when this process commits
// something of their session, and at intervals because the worker may be in another process. The facts are in the database; nothing
// is lost when a request stops waiting.
import { shareNext } from '../coalesce/share-next.ts';
import type { OutageLog } from '../outage-log.ts';
import type { CommitWake } from './context.ts';

export interface SettlementWaiterOptions<Settlement> {
  /** How those of these messages that are settled ended. One query. */
  readSettled: (messageIds: string[]) => Promise<ReadonlyMap<string, Settlement>>;
  wake: CommitWake;
  outages: Pick<OutageLog, 'report'>;
  /** Requests that may wait at the same time; over it a wait ends before it begins. */
  waitingMax: number;
}

/** A message that a request waits for. */
export interface AwaitedMessage {
  id: string;
  sessionId: string;
}

interface Waiter<Settlement> {
  sessionId: string;
  end: (settlement: Settlement | null) => void;
}

/** The time between two queries: the first soon after a wait begins, then less often. */
const INTERVAL_MS_MIN = 50;
const INTERVAL_MS_MAX = 250;
const INTERVAL_GROWTH = 1.5;
/** The pause after a query, in times of how long it took: commits in a quick succession do not occupy the database. */
const PAUSE_FACTOR = 2;
const PAUSE_MS_MAX = 50;

export class SettlementWaiter<Settlement> {
  readonly #options: SettlementWaiterOptions<Settlement>;
  /** By message; several requests may wait for the same one. */
  readonly #waiting = new Map<string, Set<Waiter<Settlement>>>();
  /** How many of them wait per session. */
  readonly #sessions = new Map<string, number>();
  /** The messages of the next query: those of sessions that were committed to, or all when the interval is over. */
  readonly #woken = new Set<string>();
  #isAllDue = false;
  /** One query at a time: messages that become due meanwhile are in the next. */
  readonly #query = shareNext(() => this.#queryOnce());
  readonly #stopListening: (() => void)[];
  #size = 0;
  #intervalMs = INTERVAL_MS_MIN;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  /** When the pause after the last query ends. */
  #pauseEndsAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(options: SettlementWaiterOptions<Settlement>) {
    this.#options = options;
    const { wake } = options;
    this.#stopListening = [
      wake.addWaiter((sessionId) => this.#sessions.has(sessionId)),
      wake.onCommit((sessionId, what, settled) => {
        if (what !== 'settlement' || !this.#sessions.has(sessionId)) return;
        // The end of a turn reports all that it has settled, so there is nothing to query; it has the form of `readSettled`.
        if (settled.size > 0) return this.#end(settled as ReadonlyMap<string, Settlement>);
        this.#woken.add(sessionId);
        void this.#query();
      }),
    ];
  }

  get size(): number {
    return this.#size;
  }

  /**
   * How the message ended; null when the time limit is reached first or the signal aborts (the client has disconnected). Never
   * rejects: an unavailable database only means that nothing is known yet.
   */
  async wait(message: AwaitedMessage, timeoutMs: number, signal: AbortSignal): Promise<Settlement | null> {
    if (this.#isClosed || signal.aborted || this.#size >= this.#options.waitingMax) return null;
    return new Promise<Settlement | null>((resolve) => {
      const waiting: Waiter<Settlement> = { sessionId: message.sessionId, end };
      const timer = setTimeout(() => end(null), timeoutMs);
      const giveUp = () => end(null);
      const remove = () => this.#remove(message.id, waiting);
      function end(settlement: Settlement | null): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        remove();
        resolve(settlement);
      }
      signal.addEventListener('abort', giveUp, { once: true });
      this.#add(message.id, waiting);
    });
  }

  /** Ends every wait as if its time were over. */
  close(): void {
    this.#isClosed = true;
    for (const stop of this.#stopListening) stop();
    clearTimeout(this.#timer);
    for (const group of this.#waiting.values()) for (const one of group) one.end(null);
  }

  #add(messageId: string, waiting: Waiter<Settlement>): void {
    const group = this.#waiting.get(messageId);
    if (group === undefined) this.#waiting.set(messageId, new Set([waiting]));
    else group.add(waiting);
    this.#sessions.set(waiting.sessionId, (this.#sessions.get(waiting.sessionId) ?? 0) + 1);
    this.#size += 1;
    this.#intervalMs = INTERVAL_MS_MIN;
    this.#queryLater();
  }

  #remove(messageId: string, waiting: Waiter<Settlement>): void {
    const group = this.#waiting.get(messageId);
    if (group === undefined || !group.delete(waiting)) return;
    if (group.size === 0) this.#waiting.delete(messageId);
    const others = (this.#sessions.get(waiting.sessionId) ?? 1) - 1;
    if (others === 0) this.#sessions.delete(waiting.sessionId);
    else this.#sessions.set(waiting.sessionId, others);
    this.#size -= 1;
  }

  #end(settled: ReadonlyMap<string, Settlement>): void {
    for (const [id, settlement] of settled) for (const one of this.#waiting.get(id) ?? []) one.end(settlement);
  }

  /** Queries for all waiting requests after an interval, unless a query is already due sooner: a new request never delays the others. */
  #queryLater(): void {
    const dueAt = performance.now() + this.#intervalMs;
    if (this.#isClosed || this.#size === 0 || this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#isAllDue = true;
      void this.#query();
    }, this.#intervalMs);
    this.#intervalMs = Math.min(this.#intervalMs * INTERVAL_GROWTH, INTERVAL_MS_MAX);
  }

  async #queryOnce(): Promise<void> {
    const pauseMs = this.#pauseEndsAt - performance.now();
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const ids = this.#takeDue();
    if (ids.length > 0) await this.#settle(ids);
    this.#queryLater();
  }

  /** The messages to ask for now. */
  #takeDue(): string[] {
    const isDue = ({ sessionId }: Waiter<Settlement>): boolean => this.#isAllDue || this.#woken.has(sessionId);
    const ids = [...this.#waiting].filter(([, group]) => [...group].some(isDue)).map(([id]) => id);
    this.#isAllDue = false;
    this.#woken.clear();
    return ids;
  }

  async #settle(ids: string[]): Promise<void> {
    const startedAt = performance.now();
    try {
      this.#end(await this.#options.readSettled(ids));
    } catch (error) {
      this.#options.outages.report(error, 'Settled messages could not be read; the read is retried');
    } finally {
      const endedAt = performance.now();
      this.#pauseEndsAt = endedAt + Math.min((endedAt - startedAt) * PAUSE_FACTOR, PAUSE_MS_MAX);
    }
  }
}
