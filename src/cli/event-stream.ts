// Live events for the command line: server-sent events read with `Last-Event-ID`, so that a stream that breaks, or a service that
// restarts, is picked up again without a gap or a repeat.
import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import type { ApiClient } from './api-client.ts';
import { CliError, EXIT } from './cli-error.ts';

const RECONNECT_MS = 500;
const RECONNECTS_MAX = 60;
/** The largest number of characters of one event. */
const EVENT_CHARS_MAX = 4_194_304;

export interface StreamedEvent {
  id: string;
  type: string;
  sessionKey: string | null;
  turnId: string | null;
  /** When it was written, ISO 8601; null when the service does not say. */
  at: string | null;
  /** Its own fields. */
  data: Record<string, unknown>;
}

export interface WatchOptions {
  signal: AbortSignal;
  /** Called when the service has begun to answer for the first time: from here on nothing is missed. */
  onOpen?: () => void;
  /** Called before each new attempt after the stream broke. */
  onReconnect?: () => void;
}

/**
 * The events of a path, until the signal aborts (then it simply ends). Reconnects by itself, up to a bound without progress; a first
 * attempt that fails throws immediately.
 */
export async function* watchEvents(api: ApiClient, path: string, options: WatchOptions): AsyncGenerator<StreamedEvent> {
  let lastId: string | undefined;
  let isFirst = true;
  for (let attempt = 0; attempt < RECONNECTS_MAX && !options.signal.aborted; attempt += 1) {
    try {
      const headers: Record<string, string> = {
        accept: 'text/event-stream',
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      };
      const response = await api.open(path, { headers, signal: options.signal });
      if (isFirst) options.onOpen?.();
      isFirst = false;
      for await (const block of parseEventStream(response)) {
        attempt = 0;
        if (block.id !== '') lastId = block.id;
        if (block.event !== null) yield block.event;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      if (isFirst || (error instanceof CliError && error.exitCode !== EXIT.cannotReach)) throw error;
    }
    if (options.signal.aborted) return;
    options.onReconnect?.();
    await delay(RECONNECT_MS, undefined, { signal: options.signal }).catch(() => undefined);
  }
}

/** What a stream says next: how far it is, or an event. */
interface StreamBlock {
  /** Empty when the event has none. */
  id: string;
  event: StreamedEvent | null;
}

/** The blocks of one answer; each id comes once without an event, before its event if it has one. */
export async function* parseEventStream(response: Response): AsyncGenerator<StreamBlock> {
  if (response.body === null) return;
  const blocks: StreamBlock[] = [];
  const parser = createParser({
    maxBufferSize: EVENT_CHARS_MAX,
    onId: (id) => void blocks.push({ id, event: null }),
    onEvent: ({ id = '', event = 'message', data }) => void blocks.push({ id, event: eventOf(id, event, data) }),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw error;
    },
  });
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    parser.feed(chunk);
    yield* blocks.splice(0);
  }
}

/** The data of an event are its own fields and those of every event. */
function eventOf(id: string, type: string, json: string): StreamedEvent {
  const { type: _type, sessionKey, turnId, at, ...data } = parseData(json);
  return { id, type, sessionKey: stringOrNull(sessionKey), turnId: stringOrNull(turnId), at: stringOrNull(at), data };
}

function parseData(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : { value };
}

function stringOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
