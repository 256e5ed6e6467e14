// The rounds of the usage in a scheduler: the event log is rolled up, and each event counts once.
// What is shown is exact without it, because readers add the events that it has not read; it keeps
// those few.
import { priceBookOf } from '../../config.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { workOff } from '../../work-off.ts';
import { storePriceVersion } from './store/reprice.ts';
import { countExisting, countSessions, HAS_NEW_EVENTS_SQL, rollUp, sampleMinute, trimUsage } from './store/roll-up.ts';

const ROLL_UP_MS = 1_000;
/**
 * How often what waits and what runs is sampled, sessions are counted, and what is old is deleted.
 */
const SAMPLE_MS = 10_000;

export function openUsageRounds({ service: { database }, logger }: Process): ProcessPart {
  let isCounted = false;
  async function round(signal: AbortSignal): Promise<void> {
    if (!isCounted) {
      const isNews = await countExisting(database);
      if (isNews) logger.info('Turns, messages and usage from before the upgrade are now included in the totals');
      isCounted = true;
    }
    await workOff(() => rollUp(database), { signal });
  }
  async function sample(signal: AbortSignal): Promise<void> {
    await sampleMinute(database);
    for (const portion of [countSessions, trimUsage]) await workOff(() => portion(database), { signal });
  }
  return {
    rounds: [
      {
        work: { sql: HAS_NEW_EVENTS_SQL },
        round,
        pauseMs: every(ROLL_UP_MS),
        failure: 'Usage could not be rolled up; the next round retries',
      },
      {
        round: sample,
        pauseMs: { ...every(SAMPLE_MS), first: ROLL_UP_MS },
        failure: 'What waits and runs could not be sampled; the next round retries',
      },
    ],
  };
}

/** Keeps the table by which a worker prices its calls, before the first of them. */
export async function keepPrices({ service: { database, config }, live }: Process): Promise<ProcessPart> {
  await storePriceVersion(database, priceBookOf(config));
  // A version that no call is priced by means nothing, so it may be stored before the others have
  // accepted the configuration.
  live.follow({ prepare: (next) => storePriceVersion(database, priceBookOf(next)) });
  return {};
}
