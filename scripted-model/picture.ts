// A picture as an answer: a square of one colour, which follows from the prompt.
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

const SIDE_PX = 32;

/** A PNG. */
export function pictureOf(prompt: string): Buffer {
  const [red = 0, green = 0, blue = 0] = createHash('sha256').update(prompt).digest();
  return encodePng({ width: SIDE_PX, height: SIDE_PX, pixel: [red, green, blue] });
}

/** A PNG of one colour; `pixel` is its grey, or its red, green and blue, each from 0 to 255. */
export function encodePng({ width, height, pixel }: { width: number; height: number; pixel: number[] }): Buffer {
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(width * pixel.length, Buffer.from(pixel))]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, pixel.length === 1 ? 0 : 2, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
