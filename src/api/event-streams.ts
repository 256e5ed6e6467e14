// All open event streams of a process: bounded in number and in unsent bytes of all clients
// together, with one heartbeat for all, ended together when the process stops.
/** An open stream, or a request that waits for the end of a turn. */
export interface OpenStream {
  /** Called after each write of live events. */
  onWritten: (() => void) | null;
  /** Bytes that were written and not yet read by the client. */
  readonly unsentBytes: number;
  /** Runs until it ends or the client leaves. */
  run(): Promise<void>;
  /** Keeps the connection from falling asleep. */
  beat(): void;
  /** Cuts the client off. */
  drop(): void;
  /** Ends it, because the process stops. */
  end(): void;
}

const HEARTBEAT_MS = 15_000;
/**
 * The maximum buffered for all clients together; above it, the client with the largest buffer is
 * disconnected first (G28).
 */
const UNSENT_BYTES_MAX = 32 * 1024 * 1024;

export class EventStreams {
  readonly #streams = new Set<OpenStream>();
  readonly #streamsMax: number;
  readonly #unsentBytesMax: number;
  /**
   * What waited for each stream when it was last written to, and the sum. Clients only take from
   * it, so it is never too little.
   */
  readonly #unsent = new Map<OpenStream, number>();
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

  /** True when no more may open. */
  get isFull(): boolean {
    return this.#isClosed || this.#streams.size >= this.#streamsMax;
  }

  /** Runs a stream until it ends. Rejects as the stream does. */
  async run(stream: OpenStream): Promise<void> {
    this.#streams.add(stream);
    stream.onWritten = () => this.#note(stream);
    this.#timer ??= setInterval(() => {
      for (const one of this.#streams) one.beat();
    }, HEARTBEAT_MS);
    try {
      await stream.run();
    } finally {
      this.#streams.delete(stream);
      this.#unsentBytes -= this.#unsent.get(stream) ?? 0;
      this.#unsent.delete(stream);
      if (this.#streams.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #note(stream: OpenStream): void {
    this.#measure(stream);
    if (this.#unsentBytes <= this.#unsentBytesMax) return;
    for (const one of this.#streams) this.#measure(one);
    const slowestFirst = [...this.#streams].toSorted((a, b) => b.unsentBytes - a.unsentBytes);
    for (const one of slowestFirst) {
      if (this.#unsentBytes <= this.#unsentBytesMax) return;
      this.#unsentBytes -= this.#unsent.get(one) ?? 0;
      this.#unsent.delete(one);
      one.drop();
    }
  }

  #measure(stream: OpenStream): void {
    const bytes = stream.unsentBytes;
    this.#unsentBytes += bytes - (this.#unsent.get(stream) ?? 0);
    this.#unsent.set(stream, bytes);
  }

  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams) stream.end();
  }
}
