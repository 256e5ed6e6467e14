// Rolls the event log up, in the scheduler role: any number of processes may, and each event counts once. What is shown is exact without it,
// because readers add the events that it has not read; it keeps those few.
import type { Service } from '../src/service/service.ts';
import type { Logger } from '../src/logger.ts';
import { countExisting, countSessions, rollUp, sampleMinute, trimUsage } from '../src/store/usage/roll-up.ts';

/** How often it reads the log. */
const ROUND_MS = 1_000;
/** In every so many rounds it looks at what waits and runs. */
const SAMPLE_ROUNDS = 10;

/** Rolls up now and then. Returns the function that ends it. */
export function startUsageRoller({ database }: Service, logger: Logger): () => Promise<void> {
  let isStopped = false;
  let isCounted = false;
  let rounds = 0;
  let round: Promise<void> | null = null;

  async function work(): Promise<void> {
    try {
      if (!isCounted) {
        const isNews = await countExisting(database);
        if (isNews) logger.info('Turns, messages and usage from before the upgrade are now included in the totals');
        isCounted = true;
      }
      if (rounds++ % SAMPLE_ROUNDS === 0) await sampleMinute(database);
      while (!isStopped && (await rollUp(database)));
      while (!isStopped && (await countSessions(database)));
      while (!isStopped && (await trimUsage(database)));
    } catch (error) {
      database.outages.report(error, 'Usage could not be rolled up; the next round retries');
    }
  }

  const look = (): void => {
    round ??= work().finally(() => (round = null));
  };
  const timer = setInterval(look, ROUND_MS);
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await round;
  };
}
