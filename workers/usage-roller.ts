// Rolls the event log up, in the scheduler role: any number of processes may, and each event counts once. What is shown is exact without it,
// because readers add the events that it has not read; it keeps those few.
import type { Service } from '../src/service/service.ts';
import type { Logger } from '../src/logger.ts';
import { countExisting, countSessions, rollUp, sampleMinute, trimUsage } from '../src/store/usage/roll-up.ts';
import { every, startRounds } from './start-rounds.ts';

/** How often it reads the log. */
const ROUND_MS = 1_000;
/** Every so many rounds it samples what waits and what runs. */
const SAMPLE_ROUNDS = 10;

/** Rolls up now and then. Returns the function that ends it. */
export function startUsageRoller({ database }: Service, logger: Logger): () => Promise<void> {
  let isCounted = false;
  let rounds = 0;

  async function round(signal: AbortSignal): Promise<boolean> {
    if (!isCounted) {
      const isNews = await countExisting(database);
      if (isNews) logger.info('Turns, messages and usage from before the upgrade are now included in the totals');
      isCounted = true;
    }
    if (rounds++ % SAMPLE_ROUNDS === 0) await sampleMinute(database);
    while (!signal.aborted && (await rollUp(database)));
    while (!signal.aborted && (await countSessions(database)));
    while (!signal.aborted && (await trimUsage(database)));
    return false;
  }

  return startRounds({
    database,
    round,
    failure: 'Usage could not be rolled up; the next round retries',
    pauseMs: every(ROUND_MS),
  });
}
