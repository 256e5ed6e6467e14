// The live end of the event log: one reader per process for all subscribers, and none when there
// are none. It passes each event to every subscriber once, in the order of the ids, and keeps the
// newest ones, so that a subscriber that has just read the past from the database joins without a
// gap and without a repeat:
//
//        database ── replay ──▶ floor ┐                  attach(floor) gives what is over the floor from the
//        [ ........... | remembered | position ) ──▶     remembered events, then everything that is read
//
// A subscriber whose floor is below the kept events must read on first.
import type { OutageLog } from '../logger.ts';
import type { EventPage, EventRow } from '../kernel/views/events.ts';
import type { CommitWake } from './context.ts';

/** An event with its text for the stream, which is the same for all subscribers. */
export interface LiveEvent {
  event: EventRow;
  frame: string;
}

export interface Subscriber {
  /**
   * Called with events in order, at least one, and with the id up to which the subscriber now knows
   * everything. Must not throw or wait: a subscriber that cannot keep up must unsubscribe.
   */
  take: (events: LiveEvent[]) => void;
}

export interface EventTailOptions {
  /** Reads final events after an id, all kinds of all sessions. */
  read: (page: { after: bigint; limit: number }) => Promise<EventPage>;
  wake: CommitWake;
  outages: Pick<OutageLog, 'report'>;
}

const PAGE_EVENTS = 1000;
const INTERVAL_MS_MIN = 50;
const INTERVAL_MS_MAX = 250;
const INTERVAL_GROWTH = 1.5;
/**
 * After a wake: the commit may be above a transaction that is still open, so the first reads are
 * close together.
 */
const WOKEN_INTERVAL_MS = 10;
/** The minimum time between two queries, however often it is woken. */
const GAP_MS = 8;
/** The cache of events is bounded twice. */
const REMEMBERED_EVENTS_MAX = 4096;
const REMEMBERED_CHARS_MAX = 4 * 1024 * 1024;

export class EventTail {
  readonly #options: EventTailOptions;
  readonly #subscribers = new Map<Subscriber, bigint>();
  #remembered: LiveEvent[] = [];
  #rememberedChars = 0;
  /** Everything after this id and up to `#position` is remembered. */
  #rememberedAfter = 0n;
  #position = 0n;
  #intervalMs = INTERVAL_MS_MIN;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lastLookAt = 0;
  #isReading = false;
  /** A query was requested while another was in flight. */
  #isWoken = false;
  #stopListening: (() => void) | undefined;

  constructor(options: EventTailOptions) {
    this.#options = options;
  }

  /** Everything up to this id was handed out. */
  get position(): bigint {
    return this.#position;
  }

  /**
   * Adds a subscriber that knows every event up to `floor`, and immediately passes it the kept
   * events above that. False when the events after its floor are not all kept: then it must read on
   * from the database and try again.
   */
  attach(subscriber: Subscriber, floor: bigint): boolean {
    if (this.#subscribers.size === 0) this.#startAfter(floor);
    if (floor < this.#rememberedAfter) return false;
    this.#subscribers.set(subscriber, floor);
    this.#readWithin(this.#intervalMs);
    const missed = this.#remembered.filter(({ event }) => event.id > floor);
    if (missed.length > 0) subscriber.take(missed);
    return true;
  }

  detach(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) this.#stop();
  }

  /**
   * Starts again: with the first subscriber, and when the database returned to an older state (a
   * restore, a fail-over).
   */
  #startAfter(floor: bigint): void {
    this.#position = floor;
    this.#remembered = [];
    this.#rememberedChars = 0;
    this.#rememberedAfter = floor;
    for (const subscriber of this.#subscribers.keys()) this.#subscribers.set(subscriber, floor);
    this.#stopListening ??= this.#options.wake.onCommit(() => {
      this.#intervalMs = WOKEN_INTERVAL_MS;
      this.#readWithin(0);
    });
    this.#intervalMs = WOKEN_INTERVAL_MS;
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#stopListening?.();
    this.#stopListening = undefined;
    this.#remembered = [];
  }

  #readWithin(ms: number): void {
    const now = performance.now();
    const dueAt = Math.max(now + ms, this.#lastLookAt + GAP_MS);
    if (dueAt >= this.#dueAt || this.#subscribers.size === 0) return;
    this.#dueAt = dueAt;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#read(), dueAt - now);
  }

  async #read(): Promise<void> {
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#isReading) {
      this.#isWoken = true;
      return;
    }
    this.#isReading = true;
    this.#isWoken = false;
    this.#lastLookAt = performance.now();
    const after = this.#position;
    let isMore = false;
    try {
      const page = await this.#options.read({ after, limit: PAGE_EVENTS });
      // All subscribers may have left meanwhile, and others started at another position; then this
      // page continues nothing.
      if (this.#subscribers.size > 0 && this.#position === after) {
        isMore = page.events.length === PAGE_EVENTS;
        if (page.horizon <= this.#position) this.#startAfter(page.horizon - 1n);
        this.#handOut(page.events);
      }
    } catch (error) {
      this.#options.outages.report(error, 'Live events could not be read; the read is retried');
    } finally {
      this.#isReading = false;
    }
    this.#readWithin(isMore || this.#isWoken ? 0 : this.#intervalMs);
    this.#intervalMs = Math.min(this.#intervalMs * INTERVAL_GROWTH, INTERVAL_MS_MAX);
  }

  #handOut(events: EventRow[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    this.#intervalMs = INTERVAL_MS_MIN;
    const live = events.map((event) => ({ event, frame: formatFrame(event) }));
    this.#position = last.id;
    this.#remember(live);
    for (const [subscriber, floor] of this.#subscribers) {
      const news = floor < live[0]!.event.id ? live : live.filter(({ event }) => event.id > floor);
      if (news.length > 0) subscriber.take(news);
    }
  }

  #remember(live: LiveEvent[]): void {
    this.#remembered.push(...live);
    for (const { frame } of live) this.#rememberedChars += frame.length;
    let forgotten = 0;
    while (
      this.#remembered.length - forgotten > REMEMBERED_EVENTS_MAX ||
      this.#rememberedChars > REMEMBERED_CHARS_MAX
    ) {
      const oldest = this.#remembered[forgotten];
      if (oldest === undefined) break;
      this.#rememberedChars -= oldest.frame.length;
      this.#rememberedAfter = oldest.event.id;
      forgotten += 1;
    }
    if (forgotten > 0) this.#remembered.splice(0, forgotten);
  }
}

/**
 * `id`, `event` and one line of `data`: `{type, sessionKey, turnId, at, ...}`. Ends with the blank
 * line that dispatches it.
 */
export function formatFrame(
  { id, type, sessionKey, turnId, at, data }: EventRow,
  show: (shown: object) => unknown = (shown) => shown,
): string {
  const shown = show({ ...data, type, sessionKey, turnId, at });
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(shown)}\n\n`;
}
