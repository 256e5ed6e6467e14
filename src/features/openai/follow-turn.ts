// Follows a turn for one request of a client: the past from the database, then the tail, all of it
// through a `Segment`. It ends with the segment, when the client leaves, or when the time is over;
// the turn continues in any case. The call that a request began can be stopped, too: its message
// while it waits, or the turn that has claimed it.
import type { ServerResponse } from 'node:http';
import { Segment, withoutBrokenCalls, type SegmentEnd } from './rules/segment.ts';
import type { EventPage, EventRow } from '../../kernel/views/events.ts';
import type { OpenStream } from '../../api/event-streams.ts';
import type { EventTail, LiveEvent, Subscriber } from '../../api/event-tail.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { cancelWaiting } from './client-calls.ts';
import { stopTurn } from '../../kernel/use-cases/operate-service.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { findClientTurn } from './views/turns.ts';
import type { ApiContext } from '../../api/context.ts';

/** What takes the parts of an answer. */
export interface AnswerSink {
  text(text: string): void;
  /** The text that was sent is no longer a part of the answer. */
  cut(): void;
  /** Called every 15 s. */
  beat(): void;
}

export interface FollowOptions {
  segment: Segment;
  sink: AnswerSink;
  response: ServerResponse;
  tail: EventTail;
  sessionKey: string;
  /** Every event of the segment is after it. */
  after: bigint;
  read: (page: { after: bigint; limit: number }) => Promise<EventPage>;
  /** True when no event will arrive: the events that are missing from the log are lost. */
  isPast: boolean;
}

/**
 * `gone`: the client has disconnected. `stopped`: the process stops. `cut`: see `AnswerSink`.
 * `lost`: the events of the end are deleted.
 */
export type Followed = { kind: 'ended'; end: SegmentEnd } | { kind: 'gone' | 'stopped' | 'late' | 'cut' | 'lost' };

const PAGE_EVENTS = 500;
/** The maximum buffered for a client that does not read. */
const BUFFER_BYTES_MAX = 1024 * 1024;

export class FollowedTurn implements OpenStream {
  onWritten: (() => void) | null = null;
  readonly #options: FollowOptions;
  readonly #subscriber: Subscriber = { take: (events) => this.#takeLive(events) };
  readonly #over = Promise.withResolvers<void>();
  #result: Followed | null = null;
  #cursor: bigint;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#cursor = options.after;
    const { response } = options;
    response.once('close', () => this.#finish({ kind: 'gone' }));
    response.on('error', () => undefined);
    if (response.destroyed) this.#finish({ kind: 'gone' });
  }

  /** Its result; set once `run` has resolved. */
  get result(): Followed {
    return this.#result ?? { kind: 'stopped' };
  }

  async run(): Promise<void> {
    const { tail, isPast } = this.#options;
    await this.#readPast();
    if (isPast) this.#finish({ kind: 'lost' });
    while (this.#result === null) {
      if (tail.attach(this.#subscriber, this.#cursor)) break;
      await this.#readPast();
    }
    await this.#over.promise;
  }

  beat(): void {
    if (this.#result === null) this.#options.sink.beat();
  }

  get unsentBytes(): number {
    return this.#result === null ? this.#options.response.writableLength : 0;
  }

  drop(): void {
    this.#options.response.destroy();
  }

  end(): void {
    this.#finish({ kind: 'stopped' });
  }

  /** The request has reached its maximum wait. */
  giveUp(): void {
    this.#finish({ kind: 'late' });
  }

  async #readPast(): Promise<void> {
    const past = await readPast(this.#options.read, this.#cursor, () => this.#result !== null);
    this.#cursor = past.cursor;
    for (const event of past.events) this.#take(event);
  }

  #takeLive(events: LiveEvent[]): void {
    for (const { event } of events) if (event.sessionKey === this.#options.sessionKey) this.#take(event);
    this.#cursor = events.at(-1)?.event.id ?? this.#cursor;
    if (this.#result !== null) return;
    if (this.#options.response.writableLength > BUFFER_BYTES_MAX) this.drop();
    else this.onWritten?.();
  }

  #take(event: EventRow): void {
    if (this.#result !== null) return;
    const { segment, sink } = this.#options;
    for (const part of segment.take(event)) {
      if (part.kind === 'text') sink.text(part.text);
      else if (part.kind === 'cut') {
        sink.cut();
        this.#finish({ kind: 'cut' });
      } else this.#finish({ kind: 'ended', end: part.end });
    }
  }

  #finish(result: Followed): void {
    if (this.#result !== null) return;
    this.#result = result;
    this.#options.tail.detach(this.#subscriber);
    this.#over.resolve();
  }
}

/**
 * All of the past after an id: only as a whole it says which calls were made again. `cursor`:
 * everything up to it was read.
 */
export async function readPast(
  read: FollowOptions['read'],
  after: bigint,
  isOver: () => boolean = () => false,
): Promise<{ events: EventRow[]; cursor: bigint }> {
  const events: EventRow[] = [];
  let cursor = after;
  let isMore = true;
  while (isMore && !isOver()) {
    const page = await read({ after: cursor, limit: PAGE_EVENTS });
    events.push(...page.events);
    isMore = page.events.length === PAGE_EVENTS;
    cursor = isMore ? (page.events.at(-1)?.id ?? cursor) : page.horizon - 1n;
  }
  return { events: withoutBrokenCalls(events), cursor };
}

/**
 * A worker that has just claimed a message opens its turn within some milliseconds; meanwhile there
 * is nothing to stop.
 */
const POLLS_MAX = 50;
const POLL_MS = 100;

/** Cancels the message, or stops the turn that has claimed it. False: it has ended. */
export async function stopCall(
  { views, service }: ApiContext,
  messageId: string,
  idempotency: KeyedRequest | null,
): Promise<boolean> {
  for (let poll = 1; poll <= POLLS_MAX; poll += 1) {
    if (await cancelWaiting(service, messageId, idempotency)) return true;
    const found = await findClientTurn(views, { messageId });
    if (found?.turn) return (await stopTurn(service, found.turn.id, idempotency)) === 'stopped';
    if (found?.status !== 'claimed' && found?.status !== 'waiting') return false;
    await delay(POLL_MS);
  }
  return false;
}
