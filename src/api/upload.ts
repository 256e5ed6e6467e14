// An upload as it arrives, and its lines, read with the memory of one line: a stream of bytes,
// which may be compressed, becomes lines with their numbers. It is bounded by the time without a
// byte, by the time of all of it, and by its bytes: a body that only has to keep arriving would
// otherwise hold a request open forever, with a byte a minute or with bytes that expand to nothing.
// What makes the whole upload unreadable is thrown as a problem; what is wrong with one line is for
// the caller to list.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { fieldProblem, Problem } from './problem.ts';

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

export const LINE_TYPES = ['application/x-ndjson', 'application/jsonl'];

/** A body that expands to less than this is not judged by its ratio. */
const RATIO_FROM_BYTES = 1_048_576;

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

export interface Line {
  /** From 1, empty lines included. */
  number: number;
  bytes: Buffer;
}

type LineLimits = Pick<Config['limits'], 'batchBytes' | 'batchLineBytes' | 'batchGzipRatio'>;

export const FORM_TYPE = 'multipart/form-data';

export function parseMediaType({ headers }: Pick<FastifyRequest, 'headers'>): string {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/**
 * The lines of a body that are not blank. Read once; `sha256` is that of the bytes read, without
 * compression.
 */
export class LineReader {
  readonly #source: Readable;
  readonly #isGzip: boolean;
  readonly #limits: LineLimits;
  readonly #hash = createHash('sha256');
  readonly #uploadLimits: UploadLimits;
  #compressed = 0;
  #bytes = 0;

  constructor(
    source: Readable,
    {
      isGzip,
      limits,
      ...more
    }: { isGzip: boolean; limits: LineLimits } & Pick<UploadLimits, 'silentMsMax' | 'hoursMax'>,
  ) {
    this.#source = source;
    this.#isGzip = isGzip;
    this.#limits = limits;
    this.#uploadLimits = { noun: 'batch', bytesMax: limits.batchBytes, ...more };
  }

  /** The hash of all bytes read; called once, at the end. */
  sha256(): string {
    return this.#hash.digest('hex');
  }

  async *lines(): AsyncGenerator<Line> {
    let number = 0;
    let pieces: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.#chunks()) {
      let from = 0;
      for (let to = chunk.indexOf(NEWLINE); to !== -1; to = chunk.indexOf(NEWLINE, from)) {
        number += 1;
        this.#checkLine(size + to - from, number);
        const line = decodeLine([...pieces, chunk.subarray(from, to)], number);
        if (line !== null) yield line;
        pieces = [];
        size = 0;
        from = to + 1;
      }
      if (from === chunk.length) continue;
      pieces.push(chunk.subarray(from));
      size += chunk.length - from;
      this.#checkLine(size, number + 1);
    }
    const last = size === 0 ? null : decodeLine(pieces, number + 1);
    if (last !== null) yield last;
  }

  #checkLine(size: number, number: number): void {
    const max = this.#limits.batchLineBytes;
    if (size <= max) return;
    const message = `the line has more than ${max} bytes; raise limits.batchLineBytes or shorten the item`;
    throw fieldProblem(`line ${number}`, message, 'body_too_large');
  }

  async *#chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#plain()) {
        this.#bytes += chunk.length;
        this.#checkSize();
        this.#hash.update(chunk);
        yield chunk;
      }
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (error instanceof Problem || typeof code !== 'string') throw error;
      if (code.startsWith('Z_')) {
        throw new Problem('invalid_body', 'The body is not valid gzip, or it ends too early.', { cause: error });
      }
      throw new Problem('invalid_request', 'The connection closed before the body had arrived.', { cause: error });
    }
  }

  #checkSize(): void {
    const { batchBytes, batchGzipRatio } = this.#limits;
    if (this.#bytes > batchBytes) {
      throw new Problem('body_too_large', `A batch may have up to ${batchBytes} bytes (limits.batchBytes). Split it.`);
    }
    if (this.#isGzip && this.#bytes > RATIO_FROM_BYTES && this.#bytes > this.#compressed * batchGzipRatio) {
      const detail = `The body expands to more than ${batchGzipRatio} times its size (limits.batchGzipRatio). Send it without compression.`;
      throw new Problem('body_too_large', detail);
    }
  }

  /** The bytes without compression. */
  #plain(): AsyncIterable<Buffer> {
    const arriving = this.#arriving();
    if (!this.#isGzip) return arriving;
    const gunzip = createGunzip();
    void feed(arriving, gunzip);
    return gunzip;
  }

  async *#arriving(): AsyncGenerator<Buffer> {
    for await (const chunk of arriving(this.#source, this.#uploadLimits)) {
      this.#compressed += chunk.length;
      yield chunk;
    }
  }
}

async function feed(chunks: AsyncIterable<Buffer>, gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  try {
    for await (const chunk of chunks) {
      if (gunzip.destroyed) return;
      if (!gunzip.write(chunk)) await new Promise((resolve) => gunzip.once('drain', resolve).once('close', resolve));
    }
    gunzip.end();
  } catch (error) {
    gunzip.destroy(error as Error);
  }
}

/** The line without its carriage return and byte order mark; null for a blank one. */
function decodeLine(pieces: Buffer[], number: number): Line | null {
  let bytes = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  if (bytes.at(-1) === CARRIAGE_RETURN) bytes = bytes.subarray(0, -1);
  if (number === 1 && bytes.subarray(0, BOM.length).equals(BOM)) bytes = bytes.subarray(BOM.length);
  return bytes.every((byte) => byte === 0x20 || byte === 0x09) ? null : { number, bytes };
}
