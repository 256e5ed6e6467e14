// The form of a backup: lines of JSON, some of them followed by as many bytes as they say. It is compressed as a whole (gzip), whose checksum
// covers all of it, and it ends with a line that says so: a file that was cut off is never taken for a whole one.

/** A line, with the bytes that follow it. */
export interface Frame {
  head: Record<string, unknown>;
  bytes: Buffer;
}

/** A frame as it is written. */
export function encodeFrame(head: Record<string, unknown>, bytes?: Buffer): Buffer {
  const line = Buffer.from(`${JSON.stringify(bytes === undefined ? head : { ...head, bytes: bytes.length })}\n`);
  return bytes === undefined ? line : Buffer.concat([line, bytes]);
}

const NEWLINE = 10;
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** The frames of a stream. Throws a `SyntaxError` if it is not a backup, or ends within a frame. */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  let wanted: Record<string, unknown> | null = null;
  for await (const chunk of source) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      if (wanted === null) {
        const end = rest.indexOf(NEWLINE);
        if (end < 0 && rest.length > LINE_BYTES_MAX) throw new SyntaxError('a line is too long');
        if (end < 0) break;
        wanted = JSON.parse(rest.subarray(0, end).toString()) as Record<string, unknown>;
        rest = rest.subarray(end + 1);
      }
      const size = typeof wanted['bytes'] === 'number' ? wanted['bytes'] : 0;
      if (rest.length < size) break;
      const frame: Frame = { head: wanted, bytes: rest.subarray(0, size) };
      rest = rest.subarray(size);
      wanted = null;
      yield frame;
    }
  }
  if (wanted !== null || rest.length > 0) throw new SyntaxError('it ends in the middle');
}
