// An upload as it arrives, bounded: by the time without a byte, by the time of all of it, and by
// its bytes. A body that only has to keep arriving would otherwise hold a request open forever,
// with a byte a minute or with bytes that expand to nothing.
import type { Readable } from 'node:stream';
import { Problem } from './problem.ts';

/** The longest time without a byte. */
const SILENT_MS_MAX = 60_000;
const HOUR_MS = 3_600_000;

export interface UploadLimits {
  /** The noun for it in texts: `batch`. */
  noun: string;
  /** The most bytes, as they are sent. */
  bytesMax: number;
  /** The longest that all of it may take, in hours. */
  hoursMax: number;
  /** Absent: a minute. */
  silentMsMax?: number;
}

/**
 * The bytes of an upload. Throws `Problem` 408 when they take too long, and 413 when there are too
 * many.
 */
export async function* arriving(source: Readable, limits: UploadLimits): AsyncGenerator<Buffer> {
  const { noun, bytesMax, hoursMax, silentMsMax = SILENT_MS_MAX } = limits;
  const end = (detail: string) => () => void source.destroy(new Problem('request_timeout', detail));
  const late = `The ${noun} took longer than ${hoursMax} h to arrive, so nothing was kept. Split it, or send it with gzip.`;
  const silent = `No byte of the ${noun} arrived for ${silentMsMax / 1000} s, so nothing was kept. Send it again.`;
  const whole = setTimeout(end(late), hoursMax * HOUR_MS);
  let quiet = setTimeout(end(silent), silentMsMax);
  let bytes = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      // While the reader is busy, the time without a byte does not count.
      clearTimeout(quiet);
      bytes += chunk.length;
      if (bytes > bytesMax) {
        const detail = `The body has more than ${bytesMax} bytes, which no ${noun} needs (limits.batchBytes). Split the ${noun}.`;
        throw new Problem('body_too_large', detail);
      }
      yield chunk;
      quiet = setTimeout(end(silent), silentMsMax);
    }
  } finally {
    clearTimeout(whole);
    clearTimeout(quiet);
  }
}
