// Makes the ids of rows: UUIDv7, so that they grow with time and index well. The types they are given are in `core/ids.ts`.
import { v7 } from 'uuid';

/**
 * A new UUIDv7 in lower case, as the branded id that the caller asks for: `newId<TurnId>()`. Ids of one process always grow, also
 * within one millisecond and when the wall clock is set back.
 */
export function newId<Id extends string>(): Id {
  // A new id has no specific type: the caller decides what it identifies.
  return v7() as Id;
}
