// All open event streams of a process: bounded in number, one heartbeat for all, ended together when the process stops.
import type { EventStream } from './event-stream.ts';

const HEARTBEAT_MS = 15_000;

export class EventStreams {
  readonly #streams = new Set<EventStream>();
  readonly #streamsMax: number;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(streamsMax: number) {
    this.#streamsMax = streamsMax;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** True when no more may open. */
  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= this.#streamsMax;
  }

  /** Runs a stream until it ends. Rejects as the stream does. */
  async run(stream: EventStream): Promise<void> {
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#streams) one.beat();
    }, HEARTBEAT_MS);
    try {
      await stream.run();
    } finally {
      this.#streams.delete(stream);
      if (this.#streams.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.end();
  }
}
