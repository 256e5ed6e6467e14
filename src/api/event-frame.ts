// An event stream (`text/event-stream`): its beginning, and its events as text.
import type { FastifyReply } from 'fastify';
import type { EventRow } from '../kernel/views/events.ts';

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

/**
 * `id`, `event` and one line of `data`: `{type, sessionKey, turnId, at, ...}`. Ends with the blank
 * line that dispatches it.
 */
export function formatFrame(event: EventRow): string {
  const data = JSON.stringify({
    ...event.data,
    type: event.type,
    sessionKey: event.sessionKey,
    turnId: event.turnId,
    at: event.at,
  });
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${data}\n\n`;
}

/**
 * Moves the client's last event id without an event, so that it resumes from here even when nothing
 * came yet.
 */
export function idFrame(id: bigint): string {
  return `id: ${id}\n\n`;
}

/**
 * Says that events after the client's last id were deleted, the newest of them written at this
 * time. It has no id: the last one stays.
 */
export function resetFrame(at: string): string {
  return `event: reset\ndata: ${JSON.stringify({ type: 'reset', sessionKey: null, turnId: null, at })}\n\n`;
}
