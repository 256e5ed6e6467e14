// A client of event streams over real HTTP: keeps every event in the order of arrival, and the last
// id as a browser would.
import { EventEmitter, once } from 'node:events';
import { createParser } from 'eventsource-parser';
import { onTestFinished } from 'vitest';
import { ADMIN_KEY } from './api-rig.ts';

export interface ReceivedEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

export interface EventClient {
  status: number;
  events: ReceivedEvent[];
  /** What a client that reconnects would send; also moved by frames without an event. */
  lastId(): string;
  /** Resolves when `isEnough` holds for the events so far; rejects when the stream ends before. */
  until(isEnough: (events: ReceivedEvent[]) => boolean): Promise<ReceivedEvent[]>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  leave(): void;
}

/**
 * Connects; resolves with the first byte of the answer. Clients that are still connected when the
 * test ends are closed then.
 */
export async function openEvents(url: string, lastEventId?: string, key = ADMIN_KEY): Promise<EventClient> {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const response = await fetch(url, {
    headers: {
      authorization: `Bearer ${key}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
    signal: leaving.signal,
  });
  const news = new EventEmitter();
  const events: ReceivedEvent[] = [];
  let lastId = lastEventId ?? '';
  const parser = createParser({
    onEvent(event) {
      events.push({
        id: event.id ?? '',
        type: event.event ?? '',
        data: JSON.parse(event.data) as Record<string, unknown>,
      });
      news.emit('event');
    },
  });
  let isOver = false;
  let fault: unknown;
  const ended = (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) {
        const text = decoder.decode(chunk, { stream: true });
        for (const [, id] of text.matchAll(/^id: (\d+)$/gm)) lastId = id ?? lastId;
        parser.feed(text);
      }
    } catch (error) {
      fault = error;
    }
    isOver = true;
    news.emit('event');
  })();
  return {
    status: response.status,
    events,
    lastId: () => lastId,
    ended,
    async until(isEnough) {
      while (!isEnough(events)) {
        if (isOver) throw new Error(`the stream ended after ${events.length} events`, { cause: fault });
        await once(news, 'event');
      }
      return events;
    },
    leave: () => leaving.abort(),
  };
}
