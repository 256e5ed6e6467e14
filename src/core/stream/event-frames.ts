// Cuts a server-sent event stream into the data of its events. It does not interpret the data, and holds at most one unfinished
// event. Each character is read once, however small the pieces are: pieces are kept and joined when their event is complete.
import { malformed } from './stream-event.ts';

/** The largest number of characters of one event before the stream fails as malformed (G28). */
const EVENT_CHARS_MAX = 32 * 1024 * 1024;

/** Turns pieces of a stream, cut anywhere, into the `data` of complete events. One per stream. */
export class EventFrames {
  /** What is there of the event that has no end yet. */
  #pieces: string[] = [];
  #chars = 0;
  /** The line ends at the very end: only what follows says whether they end the event. */
  #held = '';

  /**
   * Takes the next piece and returns the data of every event that it completes, in order; events without data are left out.
   * Throws `StreamFault` `malformed_stream` when an event has no end in sight.
   */
  push(piece: string): string[] {
    let text = this.#held === '' ? piece : this.#held + piece;
    this.#held = '';
    // Line ends other than \n are legal; the provider sends none, so the copies are rare.
    if (text.includes('\r')) {
      if (text.endsWith('\r')) {
        this.#held = '\r';
        text = text.slice(0, -1);
      }
      text = text.replace(/\r\n?/g, '\n');
    }
    const complete: string[] = [];
    let start = 0;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', start)) {
      const data = dataOf(this.#frame(text.slice(start, end)));
      if (data !== null) complete.push(data);
      start = end + 2;
    }
    this.#keep(start === 0 ? text : text.slice(start));
    return complete;
  }

  /** The event that ends here: what waited, and its last piece. */
  #frame(last: string): string {
    if (this.#pieces.length === 0) return last;
    const frame = this.#pieces.join('') + last;
    this.#pieces = [];
    this.#chars = 0;
    return frame;
  }

  #keep(rest: string): void {
    let kept = rest;
    if (kept.endsWith('\n')) {
      this.#held = `\n${this.#held}`;
      kept = kept.slice(0, -1);
    }
    if (kept === '') return;
    this.#pieces.push(kept);
    this.#chars += kept.length;
    if (this.#chars > EVENT_CHARS_MAX) {
      throw malformed(`An event of the stream is longer than ${EVENT_CHARS_MAX} characters.`);
    }
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
