// One client's event stream: the past from the database first, page by page and no faster than the
// client reads, then the tail. Its memory is bounded: a client that does not read what is live is
// disconnected, and resumes by its last id.
import type { ServerResponse } from 'node:http';
import type { EventPage, EventRow } from '../kernel/views/events.ts';
import { formatFrame, idFrame, resetFrame } from './event-frame.ts';
import type { EventTail, LiveEvent, Subscriber } from './event-tail.ts';

export interface EventStreamOptions {
  response: ServerResponse;
  tail: EventTail;
  /** The client has everything up to this id. */
  after: bigint;
  /**
   * When the newest of the events was written that were deleted after an id; null: none was.
   * Absent: the client has named no id.
   */
  findTrimmed?: (after: bigint) => Promise<string | null>;
  /** Reads the events of this stream after an id. */
  read: (page: { after: bigint; limit: number }) => Promise<EventPage>;
  /** The same choice for live events. */
  isWanted: (event: EventRow) => boolean;
  /** True for the event that ends the stream; it is sent first. */
  isLast: (event: EventRow) => boolean;
  /** False: the stream ends with the past, because nothing more will come. */
  isFollowing: boolean;
}

const PAGE_EVENTS = 500;
/** How long a client waits before it connects again. */
const RETRY_MS = 1000;
const STALLED_BEATS_MAX = 4;
/** The maximum buffered for a client that does not read live events. */
const BUFFER_BYTES_MAX = 1024 * 1024;

export class EventStream {
  /** Called after each write of live events. */
  onWritten: (() => void) | null = null;
  readonly #options: EventStreamOptions;
  readonly #subscriber: Subscriber = { take: (events) => this.#take(events) };
  readonly #closed: Promise<void>;
  /** Every event of this stream up to this id was written. */
  #cursor: bigint;
  #isLive = false;
  #isDone = false;
  #wasReset = false;
  #unreadAtBeat = 0;
  #stalledBeats = 0;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#cursor = options.after;
    this.#closed = new Promise((resolve) => {
      const leave = (): void => {
        this.#isDone = true;
        options.tail.detach(this.#subscriber);
        resolve();
      };
      options.response.once('close', leave);
      // A client that has disconnected is not reported again, and a write to one that disconnects
      // is not an error.
      if (options.response.destroyed) leave();
      options.response.on('error', () => undefined);
    });
  }

  /**
   * Replays and follows until the stream ends or the client leaves. Rejects when the past cannot be
   * read.
   */
  async run(): Promise<void> {
    const { response, tail } = this.#options;
    if (!this.#isDone) response.write(`retry: ${RETRY_MS}\n\n${idFrame(this.#cursor)}`);
    while (!this.#isDone) {
      if (await this.#replayPage()) continue;
      if (this.#isDone) return;
      if (!this.#options.isFollowing) return this.end();
      this.#isLive = true;
      if (tail.attach(this.#subscriber, this.#cursor)) return this.#closed;
      this.#isLive = false;
    }
  }

  /**
   * Keeps the connection and everything between from falling asleep, and moves the client's last id
   * on. A client that did not read anything for some beats is disconnected.
   */
  beat(): void {
    const { response, tail } = this.#options;
    if (this.#isDone) return;
    const isStalled = response.writableLength > 0 && response.writableLength >= this.#unreadAtBeat;
    this.#unreadAtBeat = response.writableLength;
    this.#stalledBeats = isStalled ? this.#stalledBeats + 1 : 0;
    if (this.#stalledBeats >= STALLED_BEATS_MAX) return void response.destroy();
    if (!this.#isLive) return;
    if (tail.position > this.#cursor) this.#cursor = tail.position;
    this.#writeLive(`: alive\n${idFrame(this.#cursor)}`);
  }

  /** Bytes that were written and not yet read by the client. */
  get unsentBytes(): number {
    return this.#isDone ? 0 : this.#options.response.writableLength;
  }

  /** Cuts the client off: it resumes by its last id. */
  drop(): void {
    this.#options.response.destroy();
  }

  /** Ends the stream; the client will reconnect to another process. */
  end(): void {
    this.#isDone = true;
    this.#options.tail.detach(this.#subscriber);
    this.#options.response.end();
  }

  /** Writes one page of the past; true while there may be more. */
  async #replayPage(): Promise<boolean> {
    const { response, read, isLast } = this.#options;
    const page = await read({ after: this.#cursor, limit: PAGE_EVENTS });
    // After the page, so that a deletion that happened before it was read is noticed here.
    if (!this.#isDone) await this.#reportTrimmed();
    if (this.#isDone) return false;
    const last = page.events.findIndex(isLast);
    const events = last === -1 ? page.events : page.events.slice(0, last + 1);
    const hasRoom = events.length === 0 || response.write(events.map(formatFrame).join(''));
    this.onWritten?.();
    if (last !== -1) {
      this.end();
      return false;
    }
    if (!hasRoom) await Promise.race([drained(response), this.#closed]);
    const isMore = page.events.length === PAGE_EVENTS;
    // Everything below the horizon was read. An invented id above it does not count: it would hide
    // later events.
    this.#cursor = isMore ? (page.events.at(-1)?.id ?? this.#cursor) : page.horizon - 1n;
    return isMore;
  }

  /**
   * Once per stream, before the remaining events: the client must reload everything that it derived
   * from the events that it missed.
   */
  async #reportTrimmed(): Promise<void> {
    const at = this.#wasReset ? null : ((await this.#options.findTrimmed?.(this.#cursor)) ?? null);
    if (at === null || this.#isDone) return;
    this.#wasReset = true;
    this.#options.response.write(resetFrame(at));
  }

  #take(events: LiveEvent[]): void {
    const { isWanted, isLast } = this.#options;
    if (this.#isDone) return;
    let text = '';
    for (const { event, frame } of events) {
      if (!isWanted(event)) continue;
      text += frame;
      if (!isLast(event)) continue;
      this.#options.response.write(text);
      this.end();
      return;
    }
    this.#cursor = events.at(-1)?.event.id ?? this.#cursor;
    if (text !== '') this.#writeLive(text);
  }

  #writeLive(text: string): void {
    const { response } = this.#options;
    if (response.destroyed) return;
    response.write(text);
    if (response.writableLength > BUFFER_BYTES_MAX) response.destroy();
    else this.onWritten?.();
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.once('drain', () => resolve()));
}
