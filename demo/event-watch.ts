// Live events, one at a time, for chapters that decide by what happens: opened before the thing
// happens, so no event is missed, and with a limit on every wait.
import type { ApiClient } from '../src/cli/api-client.ts';
import type { EventChoice, EventHooks } from '../src/client/create-client.ts';
import { watchEvents, type StreamedEvent } from '../src/cli/event-stream.ts';

/** The longest silence of a stream that is waited on. */
const SILENCE_MS_MAX = 120_000;

export class EventWatch {
  readonly #closed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #unread: StreamedEvent[] = [];
  #last: StreamedEvent | undefined;
  #waiting: PromiseWithResolvers<void> | null = null;
  #fault: unknown = null;

  private constructor(signal: AbortSignal) {
    this.#signal = AbortSignal.any([signal, this.#closed.signal]);
  }

  /**
   * Resolves when the stream is open: what happens from here on is seen. Ends with `signal` or
   * `close`.
   */
  static async open(api: ApiClient, choice: EventChoice, signal: AbortSignal): Promise<EventWatch> {
    const watch = new EventWatch(signal);
    const opened = Promise.withResolvers<void>();
    const fail = (error: unknown): void => {
      watch.#fault = error;
      watch.#waiting?.resolve();
      opened.reject(error);
    };
    const ended = () => fail(new Error('the stream of events ended'));
    void watch.#read(api, choice, opened.resolve).then(ended, fail);
    await opened.promise;
    return watch;
  }

  /**
   * The next event. Rejects when there is none for a long time, when the stream broke permanently,
   * or when the demo is stopped.
   */
  async next(): Promise<StreamedEvent> {
    for (;;) {
      const event = this.#unread.shift();
      if (event !== undefined) return (this.#last = event);
      this.#signal.throwIfAborted();
      if (this.#fault !== null) throw this.#fault;
      this.#waiting = Promise.withResolvers<void>();
      const timer = setTimeout(() => {
        const last = this.#last === undefined ? 'the stream was opened' : JSON.stringify(this.#last);
        this.#fault = new Error(`no event within ${SILENCE_MS_MAX} ms after ${last}`);
        this.#waiting?.resolve();
      }, SILENCE_MS_MAX);
      const wake = (): void => this.#waiting?.resolve();
      this.#signal.addEventListener('abort', wake, { once: true });
      await this.#waiting.promise;
      this.#signal.removeEventListener('abort', wake);
      clearTimeout(timer);
      this.#waiting = null;
    }
  }

  close(): void {
    this.#closed.abort(new Error('the stream of events was closed'));
  }

  async #read(api: ApiClient, choice: EventChoice, onOpen: () => void): Promise<void> {
    const open = (hooks: EventHooks) => api.events({ ...choice, ...hooks });
    for await (const event of watchEvents(open, { signal: this.#signal, onOpen })) {
      this.#unread.push(event);
      this.#waiting?.resolve();
    }
  }
}
