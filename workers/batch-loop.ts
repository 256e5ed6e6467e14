// The batches' part of a scheduler: settles and feeds in its own rounds, because items end much more often than the scheduler ticks.
import { feedBatches } from './feed-batches.ts';
import { settleBatches, type SettlerParts } from './settle-batches.ts';
import { CLOSE_ROUNDS, startRounds } from './start-rounds.ts';

/** Starts the rounds. Returns the function that ends them. */
export function startBatchLoop(parts: SettlerParts): () => Promise<void> {
  return startRounds({
    database: parts.database,
    round: (signal) => runBatchRound(parts, signal),
    failure: 'Round of batches failed; the next round retries',
    pauseMs: CLOSE_ROUNDS,
  });
}

/** One round: ended items are settled, which makes room for more. True when something changed. */
export async function runBatchRound(parts: SettlerParts, signal: AbortSignal): Promise<boolean> {
  const hasSettled = await settleBatches(parts, signal);
  const fed = await feedBatches(parts, signal);
  return hasSettled || fed > 0;
}
