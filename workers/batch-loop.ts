// The batches' part of a scheduler: settles and feeds in its own rounds, because items end much more often than the scheduler ticks.
import { trimBatches } from '../src/store/batches/control.ts';
import { feedBatches } from './feed-batches.ts';
import { RoundLoop } from './round-loop.ts';
import { settleBatches, type SettlerParts } from './settle-batches.ts';

const TRIM_MS = 60_000;

/** Makes the loop. */
export function createBatchLoop(parts: SettlerParts): RoundLoop {
  const { config, database } = parts;
  return new RoundLoop({
    round: (signal) => runBatchRound(parts, signal),
    trim: () => trimBatches(database, config.batches.retention),
    trimEveryMs: TRIM_MS,
    onFault: (error) => database.outages.report(error, 'Round of batches failed; the next round retries'),
  });
}

/** One round: ended items are settled, which makes room for more. True when something changed. */
export async function runBatchRound(parts: SettlerParts, signal: AbortSignal): Promise<boolean> {
  const hasSettled = await settleBatches(parts, signal);
  const fed = await feedBatches(parts, signal);
  return hasSettled || fed > 0;
}
