// Waits for messages to be settled, for every request that waits (`Prefer: wait`) in one place: one
// query serves all of them. It is sent immediately when this process has settled messages of their
// session, and at intervals because the worker may be in another process. The facts are in the
// database; nothing is lost when a request stops waiting.
import { shareNext } from '../coalesce.ts';
import { withDeadline } from '../clock.ts';
import type { OutageLog } from '../logger.ts';
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

type End<Settlement> = (settlement: Settlement | null) => void;

/** The time between two queries: the first soon after a wait begins, then less often. */
const INTERVAL_MS_MIN = 50;

const INTERVAL_MS_MAX = 250;

const INTERVAL_GROWTH = 1.5;

/**
 * A query on a connection that hangs must not hold up those that wait for the next query, which may
 * be sent on another one.
 */
const QUERY_MS_MAX = 2_000;

const late = (): Error => new Error(`the database has not answered within ${QUERY_MS_MAX} ms`);

export class SettlementWaiter<Settlement> {
  readonly #options: SettlementWaiterOptions<Settlement>;
  /** By message; several requests may wait for the same one. */
  readonly #waiting = new Map<string, Set<End<Settlement>>>();
  /** These messages by their sessions. */
  readonly #messagesOf = new Map<string, Set<string>>();
  /**
   * The messages of the next query: those of sessions that were committed to, and all when the
   * interval is over.
   */
  readonly #due = new Set<string>();
  /** One query at a time: messages that become due meanwhile are in the next. */
  readonly #query = shareNext(() => this.#queryOnce());
  readonly #stopListening: () => void;
  #size = 0;
  #intervalMs = INTERVAL_MS_MIN;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(options: SettlementWaiterOptions<Settlement>) {
    this.#options = options;
    this.#stopListening = options.wake.onCommit((sessionId, what) => {
      const messages = this.#messagesOf.get(sessionId);
      if (what === 'settlement' && messages !== undefined) this.#queryNow(messages);
    });
  }

  get size(): number {
    return this.#size;
  }

  /**
   * How the message ended; null when the time limit is reached first or the signal aborts (the
   * client has disconnected). Never rejects: an unavailable database only means that nothing is
   * known yet.
   */
  async wait(message: AwaitedMessage, timeoutMs: number, signal: AbortSignal): Promise<Settlement | null> {
    if (this.#isClosed || signal.aborted || this.#size >= this.#options.waitingMax) return null;
    return new Promise<Settlement | null>((resolve) => {
      const end: End<Settlement> = (settlement) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
        this.#remove(message, end);
        resolve(settlement);
      };
      const giveUp = () => end(null);
      const timer = setTimeout(giveUp, timeoutMs);
      signal.addEventListener('abort', giveUp, { once: true });
      this.#add(message, end);
    });
  }

  /** Ends every wait as if its time were over. */
  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    clearTimeout(this.#timer);
    for (const ends of this.#waiting.values()) for (const end of ends) end(null);
  }

  #add({ id, sessionId }: AwaitedMessage, end: End<Settlement>): void {
    addTo(this.#waiting, id, end);
    addTo(this.#messagesOf, sessionId, id);
    this.#size += 1;
    this.#intervalMs = INTERVAL_MS_MIN;
    this.#queryLater();
  }

  #remove({ id, sessionId }: AwaitedMessage, end: End<Settlement>): void {
    if (!removeFrom(this.#waiting, id, end)) return;
    if (!this.#waiting.has(id)) removeFrom(this.#messagesOf, sessionId, id);
    this.#size -= 1;
  }

  #queryNow(messages: Iterable<string>): void {
    for (const id of messages) this.#due.add(id);
    void this.#query();
  }

  /**
   * Queries for all waiting requests after an interval, unless a query is already due sooner: a new
   * request never delays the others.
   */
  #queryLater(): void {
    const dueAt = performance.now() + this.#intervalMs;
    if (this.#isClosed || this.#size === 0 || this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#dueAt = Number.POSITIVE_INFINITY;
      this.#queryNow(this.#waiting.keys());
    }, this.#intervalMs);
    this.#intervalMs = Math.min(this.#intervalMs * INTERVAL_GROWTH, INTERVAL_MS_MAX);
  }

  async #queryOnce(): Promise<void> {
    const ids = [...this.#due].filter((id) => this.#waiting.has(id));
    this.#due.clear();
    try {
      const read = () => this.#options.readSettled(ids);
      const settled = ids.length === 0 ? [] : await withDeadline({ ms: QUERY_MS_MAX, late }, read);
      for (const [id, settlement] of settled) for (const end of this.#waiting.get(id) ?? []) end(settlement);
    } catch (error) {
      this.#options.outages.report(error, 'Settled messages could not be read; the read is retried');
    }
    this.#queryLater();
  }
}

function addTo<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, new Set([value]));
  else values.add(value);
}

/** False when it is not there. A key without values is not kept. */
function removeFrom<Key, Value>(map: Map<Key, Set<Value>>, key: Key, value: Value): boolean {
  const values = map.get(key);
  if (values === undefined || !values.delete(value)) return false;
  if (values.size === 0) map.delete(key);
  return true;
}
