// Makes the ids of rows: UUIDv7, so that they grow with time and index well. The types they are
// given are in `core/ids.ts`.
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/**
 * Random bytes for the next ids: fetched one id at a time, they cost four times as much as the rest
 * of an id.
 */
const random = new Uint8Array(256 * 16);
let used = random.length;
let msecs = 0;
let seq = 0;

/**
 * A new UUIDv7 in lower case, as the branded id that the caller asks for: `newId<TurnId>()`. Ids of
 * one process always grow, also within one millisecond and when the wall clock is set back.
 */
export function newId<Id extends string>(): Id {
  if (used === random.length) {
    randomFillSync(random);
    used = 0;
  }
  const bytes = random.subarray(used, (used += 16));
  const now = Date.now();
  // A new millisecond begins anywhere in the lower half of the numbers, so that the ids within it
  // never come to their end.
  seq = now > msecs ? new DataView(bytes.buffer, bytes.byteOffset).getUint32(6) >>> 1 : seq + 1;
  msecs = Math.max(now, msecs);
  // A new id has no specific type: the caller decides what it identifies.
  return v7({ msecs, seq, random: bytes }) as Id;
}
