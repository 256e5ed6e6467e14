// Makes the ids of rows: UUIDv7, so that they grow with time and index well. The types they are given are in `core/ids.ts`.
import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

/** Random bytes are drawn for many ids together: one draw costs as much as the rest of an id. */
const POOL_BYTES = 4_096;
const ID_BYTES = 16;
const pool = new Uint8Array(POOL_BYTES);
let usedBytes = POOL_BYTES;

/** The millisecond of the last id, and its number within it. */
let lastMs = 0;
let sequence = 0;

/**
 * A new UUIDv7 in lower case, as the branded id that the caller asks for: `newId<TurnId>()`. Ids of one process always grow, also
 * within one millisecond and when the wall clock is set back.
 */
export function newId<Id extends string>(): Id {
  const random = drawBytes();
  const nowMs = Date.now();
  if (nowMs > lastMs) {
    lastMs = nowMs;
    // Begins somewhere in the lower half of its 32 bits, so that it has two thousand million steps to go.
    sequence = ((random[0] ?? 0) << 23) | ((random[1] ?? 0) << 15) | ((random[2] ?? 0) << 7);
  } else {
    sequence += 1;
  }
  // A fresh id has no type of its own: the caller decides what it identifies.
  return v7({ random, msecs: lastMs, seq: sequence }) as Id;
}

function drawBytes(): Uint8Array {
  if (usedBytes + ID_BYTES > POOL_BYTES) {
    randomFillSync(pool);
    usedBytes = 0;
  }
  usedBytes += ID_BYTES;
  return pool.subarray(usedBytes - ID_BYTES, usedBytes);
}
