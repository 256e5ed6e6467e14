// The body of an answer as it was before it was packed for the network.
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflateRaw } from 'node:zlib';

/** Its reader gets its errors. Null: `encoding`, of the header `content-encoding`, is not known. */
export function unpackBody(body: Readable, encoding = ''): Readable | null {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case 'identity':
      return body;
    case 'gzip':
    case 'x-gzip':
      return pipeline(body, createGunzip(), () => undefined);
    case 'deflate':
      return pipeline(body, withoutZlibHeader, createInflateRaw(), () => undefined);
    case 'br':
      return pipeline(body, createBrotliDecompress(), () => undefined);
    default:
      return null;
  }
}

/**
 * `deflate` is the format of zlib, but some servers send its content alone: without the header,
 * both are read alike.
 */
async function* withoutZlibHeader(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let headerBytes: number | null = null;
  for await (const chunk of packed) {
    headerBytes ??= ((chunk[0] ?? 0) & 0x0f) === 8 ? 2 : 0;
    yield chunk.subarray(headerBytes);
    headerBytes = Math.max(0, headerBytes - chunk.length);
  }
}
