// A stream of events that outlives its connections: it resumes by the last id, so no event is lost
// or repeated while the service restarts.
import { createEventParser, type EventBlock } from './event-parser.ts';
import { brokenStream, HoldfastError } from './holdfast-error.ts';
import type { Schemas } from './operations.ts';
import { pause, reconnectDelayMs } from './retry.ts';
import type { ClientTransport } from './transport.ts';

/**
 * The service sends a comment every 15 s. A connection that carries nothing for this long is dead,
 * or a proxy keeps back what it carries.
 */
const STALL_MS = 60_000;

/**
 * Events that came after the last id were deleted meanwhile: what was derived from them has to be
 * read again.
 */
export interface EventReset {
  type: 'reset';
  id: null;
  /** When the newest of the deleted events was written. */
  at: string;
}

/** An event with its id, a decimal number as text: it may be over 2^53. */
export type ClientEvent = (Exclude<Schemas['LiveEvent'], { type: 'reset' }> & { id: string }) | EventReset;

/** What a stream reports of its connections. */
export interface EventHooks {
  /** Ends the stream; it then simply has no more events. */
  signal?: AbortSignal | undefined;
  /**
   * Called each time a connection is open. From the first time on no event is missed. Must not
   * throw.
   */
  onOpen?: (() => void) | undefined;
  /**
   * Called with an id that no event has, from which the stream resumes: at its beginning, and while
   * nothing happens. Must not throw.
   */
  onId?: ((id: string) => void) | undefined;
  /**
   * Called when a connection broke or could not be made, before the wait for the next one. What it
   * throws ends the stream.
   */
  onBreak?: ((broken: StreamBreak) => void) | undefined;
}

export interface StreamBreak {
  /** null: the service ended the stream, as it does when it stops. */
  error: unknown;
  /** The number of consecutive attempts without an event. */
  attempts: number;
  /** The next attempt begins in this time. */
  delayMs: number;
}

/** Refusals that another attempt does not change. */
const FINAL = [400, 403, 405, 410, 421, 422];
/**
 * Refusals that end a stream which was never open, and pass when they come later: a sign-in that
 * expired, a service that is being replaced.
 */
const FINAL_AT_FIRST = [401, 404];

export interface FollowedPath {
  path: string;
  /** undefined: from where the service begins. */
  after: string | undefined;
  /** The type of the event after which nothing more comes; null: there is none. */
  lastType: string | null;
  /** How long a connection may carry nothing; absent: a minute. */
  stallMs?: number;
}

/**
 * The events of a path, after an id if one is given. It reconnects after 1, 2, 4 ... 30 s, each
 * less up to half. It ends with its signal, with the caller's `break`, or when the service says
 * that nothing more will come. Throws `HoldfastError` for a request that cannot succeed.
 */
export async function* followEvents(
  transport: ClientTransport,
  { path, after, lastType, stallMs = STALL_MS }: FollowedPath,
  { signal, onOpen, onId, onBreak }: EventHooks,
): AsyncGenerator<ClientEvent, void, undefined> {
  let lastId = after ?? '';
  let wasOpen = false;
  let attempts = 0;
  const isOver = (): boolean => signal?.aborted === true;
  while (!isOver()) {
    const connection = new AbortController();
    const leave = (): void => connection.abort(signal?.reason);
    signal?.addEventListener('abort', leave, { once: true });
    let error: unknown = null;
    try {
      const headers = { accept: 'text/event-stream', ...(lastId === '' ? {} : { 'last-event-id': lastId }) };
      const response = await transport.open(path, { headers, signal: connection.signal });
      if (response.status === 204) return;
      wasOpen = true;
      onOpen?.();
      for await (const block of readBlocks(response, connection, stallMs)) {
        attempts = 0;
        lastId = block.id;
        if (block.data === null) {
          onId?.(block.id);
          continue;
        }
        yield parseEvent(block, block.data);
        if (block.type === lastType) return;
      }
    } catch (cause) {
      if (isOver()) return;
      if (isFinal(cause, wasOpen)) throw cause;
      error = cause;
    } finally {
      signal?.removeEventListener('abort', leave);
      connection.abort();
    }
    attempts += 1;
    const delayMs = reconnectDelayMs(attempts, Math.random());
    onBreak?.({ error, attempts, delayMs });
    await pause(delayMs, signal).catch(() => undefined);
  }
}

function isFinal(error: unknown, wasOpen: boolean): boolean {
  if (!(error instanceof HoldfastError)) return true;
  const { status } = error;
  return status !== null && (FINAL.includes(status) || (!wasOpen && FINAL_AT_FIRST.includes(status)));
}

/** The blocks of one connection. Throws `HoldfastError` when it breaks or stalls. */
async function* readBlocks(
  response: Response,
  connection: AbortController,
  stallMs: number,
): AsyncGenerator<EventBlock> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const parse = createEventParser();
  for (;;) {
    const timer = setTimeout(() => connection.abort(new Error(`nothing came for ${stallMs} ms`)), stallMs);
    const { done, value } = await reader
      .read()
      .catch((cause: unknown) => {
        throw brokenStream('The stream of events', cause);
      })
      .finally(() => clearTimeout(timer));
    if (done) return;
    yield* parse(value);
  }
}

function parseEvent({ id, type }: EventBlock, json: string): ClientEvent {
  // The service describes its events in its OpenAPI document, which the type was made of.
  const data = JSON.parse(json) as Schemas['LiveEvent'];
  return { ...data, id: type === 'reset' ? null : id } as ClientEvent;
}
