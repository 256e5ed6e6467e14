// A client of an event stream that behaves like a browser: it keeps every event in the order of
// arrival and, when the connection ends, reconnects with the last id that it saw, until it is
// closed or the server answers 204.
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';

export interface FollowedEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

export interface EventFollower {
  events: FollowedEvent[];
  /** How often it has connected. */
  connections(): number;
  /** Resolves when a server answered 204: there are no more events. */
  isComplete: Promise<void>;
  leave(): Promise<void>;
}

/**
 * Between two attempts to connect; a server sends one second as `retry`, which would only slow the
 * test down.
 */
const reconnectMs = 30;

/** Begins to follow; resolves when it is connected for the first time. */
export async function followEvents(url: string, apiKey: string): Promise<EventFollower> {
  const leaving = new AbortController();
  const events: FollowedEvent[] = [];
  const isComplete = Promise.withResolvers<void>();
  const isConnected = Promise.withResolvers<void>();
  let connections = 0;
  let lastId: string | null = null;

  async function connect(): Promise<boolean> {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${apiKey}`, ...(lastId === null ? {} : { 'last-event-id': lastId }) },
      signal: leaving.signal,
    });
    if (response.status === 204) return true;
    if (response.status !== 200) throw new Error(`the stream answered ${response.status}`);
    connections += 1;
    isConnected.resolve();
    const parser = createParser({
      onEvent: ({ id = '', event = '', data }) => {
        events.push({ id, type: event, data: JSON.parse(data) as Record<string, unknown> });
        lastId = id;
      },
    });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const text = decoder.decode(chunk, { stream: true });
      parser.feed(text);
      // Frames without an event move the last id too.
      const bare = [...text.matchAll(/\n\nid: (\d+)\n\n/g)].at(-1)?.[1];
      if (bare !== undefined && BigInt(bare) > BigInt(lastId ?? 0)) lastId = bare;
    }
    return false;
  }

  const following = (async () => {
    while (!leaving.signal.aborted) {
      if (await connect().catch(() => false)) return isComplete.resolve();
      await delay(reconnectMs);
    }
  })();
  await isConnected.promise;
  return {
    events,
    connections: () => connections,
    isComplete: isComplete.promise,
    async leave() {
      leaving.abort();
      await following;
    },
  };
}
