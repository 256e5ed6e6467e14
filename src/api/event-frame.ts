// An event as text of an event stream (`text/event-stream`).
import type { EventRow } from '../store/views/events.ts';

/** `id`, `event` and one line of `data`: `{type, sessionKey, turnId, at, ...}`. Ends with the blank line that dispatches it. */
export function frameOf(event: EventRow): string {
  const data = JSON.stringify({
    ...event.data,
    type: event.type,
    sessionKey: event.sessionKey,
    turnId: event.turnId,
    at: event.at,
  });
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${data}\n\n`;
}

/** Moves the client's last event id without an event, so that it resumes from here even when nothing came yet. */
export function idFrame(id: bigint): string {
  return `id: ${id}\n\n`;
}

/** Says that events after the client's last id were deleted, the newest of them written at this time. It has no id: the last one stays. */
export function resetFrame(at: string): string {
  return `event: reset\ndata: ${JSON.stringify({ type: 'reset', sessionKey: null, turnId: null, at })}\n\n`;
}

/** How long a client waits before it connects again, in milliseconds. */
export function retryFrame(ms: number): string {
  return `retry: ${ms}\n\n`;
}
