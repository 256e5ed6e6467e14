// Cuts a server-sent event stream into the data of its events. It knows nothing of what the data mean, and holds at most one
// unfinished event.
import { ModelError } from './model.ts';

/** The most characters that one event may have before the stream is given up as malformed. */
const EVENT_CHARS_MAX = 32 * 1024 * 1024;

/** Turns pieces of a stream, cut anywhere, into the `data` of complete events. One per stream. */
export class EventFrames {
  #pending = '';

  /**
   * Takes the next piece and returns the data of every event that it completes, in order; events without data are left out.
   * Throws `ModelError` `malformed_stream` when an event has no end in sight.
   */
  push(piece: string): string[] {
    let text = this.#pending + piece;
    // Line ends other than \n are legal; the provider sends none, so the copy is rare. A \r at the very end may have its \n yet to come.
    if (text.includes('\r')) text = text.replace(/\r\n|\r(?!$)/g, '\n');
    const complete: string[] = [];
    let start = 0;
    // What was pending has no end of event, at most the first half of one.
    let end = text.indexOf('\n\n', Math.max(0, this.#pending.length - 2));
    while (end !== -1) {
      const data = dataOf(text.slice(start, end));
      if (data !== null) complete.push(data);
      start = end + 2;
      end = text.indexOf('\n\n', start);
    }
    this.#pending = start === 0 ? text : text.slice(start);
    if (this.#pending.length > EVENT_CHARS_MAX) {
      const message = `An event of the stream is longer than ${EVENT_CHARS_MAX} characters.`;
      throw new ModelError({ type: 'malformed_stream', status: null, retryAfterMs: null, message });
    }
    return complete;
  }
}

function dataOf(frame: string): string | null {
  const at = frame.startsWith('data:') ? 0 : frame.indexOf('\ndata:') + 1;
  if (at === 0 && !frame.startsWith('data:')) return null;
  const value = frame.slice(at + 5);
  if (!value.includes('\n')) return value.startsWith(' ') ? value.slice(1) : value;
  return frame
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    .join('\n');
}
