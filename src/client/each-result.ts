// The results of a batch, one after the other, also when the connection breaks: results come in the order of their items, so reading continues
// after the last one.
import { brokenStream } from './holdfast-error.ts';
import { readLines } from './lines.ts';
import type { Schemas } from './operations.ts';
import { pause, reconnectDelayMs } from './retry.ts';

/** Breaks in a row without a result between them. */
const BREAKS_MAX = 3;

/** Opens the results of the items with larger numbers. */
type OpenResults = (afterItem: number) => Promise<ReadableStream<Uint8Array>>;

/** Each result after an item, in the order of the items. Throws `HoldfastError`, or the reason of the signal. */
export async function* eachResult(
  open: OpenResults,
  afterItem: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Schemas['BatchResult'], void, undefined> {
  let last = afterItem;
  for (let breaks = 0; ;) {
    const stream = await open(last);
    try {
      for await (const line of readLines(stream)) {
        // The service writes each line by the schema that the type was made of.
        const result = JSON.parse(line) as Schemas['BatchResult'];
        last = result.n;
        breaks = 0;
        yield result;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      breaks += 1;
      if (breaks > BREAKS_MAX) throw brokenStream('The stream of results', error);
    }
    await pause(reconnectDelayMs(breaks, Math.random()), signal);
  }
}
