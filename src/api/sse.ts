// Answers that are streams of events (`text/event-stream`). One client's stream has the past from
// the database first, page by page and no faster than the client reads, then the tail. All open
// streams of a process are bounded in number and in unsent bytes, have one heartbeat, and end
// together when the process stops. A client that does not read what is live is disconnected, and
// resumes by its last id.
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { EventPage, EventRow } from '../kernel/views/events.ts';
import type { EventTail, LiveEvent, Subscriber } from './event-tail.ts';
import { overloaded } from './problem.ts';

/** Begins a stream as the answer of a request, with these headers and those that the reply has. */
export function beginEventStream(reply: FastifyReply, headers: Record<string, string> = {}): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)])),
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    // The connection of a stream is closed with it: kept alive, it would delay the end of a process
    // that stops.
    connection: 'close',
  });
}

/** Reads the events of a stream after an id. */
export type ReadEvents = (page: { after: bigint; limit: number }) => Promise<EventPage>;

/** A part of the past. */
export interface PastEvents {
  events: EventRow[];
  /** Everything up to this id was read. */
  cursor: bigint;
  isMore: boolean;
}

const PAGE_EVENTS = 500;

export async function readPage(read: ReadEvents, after: bigint): Promise<PastEvents> {
  const { events, horizon } = await read({ after, limit: PAGE_EVENTS });
  const isMore = events.length === PAGE_EVENTS;
  // Everything below the horizon was read. An invented id above it does not count: it would hide
  // later events.
  return { events, cursor: isMore ? (events.at(-1)?.id ?? after) : horizon - 1n, isMore };
}

export interface EventStreamOptions {
  response: ServerResponse;
  tail: EventTail;
  /** The client has everything up to this id. */
  after: bigint;
  /**
   * Reads the past after an id and passes it on. If it rejects, `run` does. It may end the stream.
   */
  replay: (after: bigint) => Promise<Omit<PastEvents, 'events'>>;
  /** Passes live events on; must not throw. It may end the stream. */
  take: (events: LiveEvent[]) => void;
  /**
   * Called every 15 s. `cursor`: the client has everything up to this id; null: it still receives
   * the past.
   */
  beat: (cursor: bigint | null) => void;
}

/** The maximum buffered for a client that does not read live events. */
const BUFFER_BYTES_MAX = 1024 * 1024;

export class EventStream {
  /** Called after each write of events. */
  onWritten: (() => void) | null = null;
  readonly #options: EventStreamOptions;
  readonly #subscriber: Subscriber = { take: (events) => this.#take(events) };
  readonly #over = Promise.withResolvers<void>();
  #cursor: bigint;
  #isLive = false;
  #isOver = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#cursor = options.after;
    const { response } = options;
    response.once('close', () => this.end());
    // A client that has disconnected is not reported again, and a write to one that disconnects is
    // not an error.
    if (response.destroyed) this.end();
    response.on('error', () => undefined);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Bytes that were written and not yet read by the client. */
  get unsentBytes(): number {
    return this.#isOver ? 0 : this.#options.response.writableLength;
  }

  /** Replays and follows until the stream ends or the client leaves. */
  async run(): Promise<void> {
    const { tail, replay } = this.#options;
    while (!this.#isOver) {
      const { cursor, isMore } = await replay(this.#cursor);
      this.#cursor = cursor;
      this.onWritten?.();
      if (isMore || this.#isOver) continue;
      this.#isLive = true;
      if (tail.attach(this.#subscriber, this.#cursor)) break;
      this.#isLive = false;
    }
    await this.#over.promise;
  }

  beat(): void {
    if (this.#isOver) return;
    const { tail, beat } = this.#options;
    if (this.#isLive && tail.position > this.#cursor) this.#cursor = tail.position;
    beat(this.#isLive ? this.#cursor : null);
    // The past waits until the client has read it.
    if (this.#isLive) this.#noteWritten();
  }

  /** Cuts the client off: it resumes by its last id. */
  drop(): void {
    this.#options.response.destroy();
    this.end();
  }

  /** No more events; the response stays open. */
  end(): void {
    this.#isOver = true;
    this.#options.tail.detach(this.#subscriber);
    this.#over.resolve();
  }

  #take(events: LiveEvent[]): void {
    if (this.#isOver) return;
    this.#cursor = events.at(-1)?.event.id ?? this.#cursor;
    this.#options.take(events);
    this.#noteWritten();
  }

  #noteWritten(): void {
    if (this.#isOver) return;
    if (this.#options.response.writableLength > BUFFER_BYTES_MAX) this.drop();
    else this.onWritten?.();
  }
}

const HEARTBEAT_MS = 15_000;
/**
 * The maximum buffered for all clients together; above it, the client with the largest buffer is
 * disconnected first (G28).
 */
const UNSENT_BYTES_MAX = 32 * 1024 * 1024;

/** The open streams of a process. */
export class EventStreams {
  readonly #streams = new Set<EventStream>();
  readonly #streamsMax: number;
  readonly #unsentBytesMax: number;
  /**
   * What waited for each stream when it was last written to, and the sum. Clients only take from
   * it, so it is never too little.
   */
  readonly #unsent = new Map<EventStream, number>();
  #unsentBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(streamsMax: number, unsentBytesMax = UNSENT_BYTES_MAX) {
    this.#streamsMax = streamsMax;
    this.#unsentBytesMax = unsentBytesMax;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Throws `Problem` 503 when no more may open. */
  refuseWhenFull(): void {
    if (!this.#isClosed && this.#streams.size < this.#streamsMax) return;
    throw overloaded('The limit of open event streams of the service is reached. Close a stream, or try again later.');
  }

  /** Runs a stream until it ends. Rejects as the stream does. */
  async run(stream: EventStream): Promise<void> {
    this.#streams.add(stream);
    stream.onWritten = () => this.#note(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#streams) one.beat();
    }, HEARTBEAT_MS);
    try {
      await stream.run();
    } finally {
      stream.end();
      this.#streams.delete(stream);
      this.#forget(stream);
      if (this.#streams.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #note(stream: EventStream): void {
    this.#measure(stream);
    if (this.#unsentBytes <= this.#unsentBytesMax) return;
    for (const one of this.#streams) this.#measure(one);
    const slowestFirst = [...this.#streams].toSorted((a, b) => b.unsentBytes - a.unsentBytes);
    for (const one of slowestFirst) {
      if (this.#unsentBytes <= this.#unsentBytesMax) return;
      this.#forget(one);
      one.drop();
    }
  }

  #measure(stream: EventStream): void {
    const bytes = stream.unsentBytes;
    this.#unsentBytes += bytes - (this.#unsent.get(stream) ?? 0);
    this.#unsent.set(stream, bytes);
  }

  #forget(stream: EventStream): void {
    this.#unsentBytes -= this.#unsent.get(stream) ?? 0;
    this.#unsent.delete(stream);
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.end();
  }
}
