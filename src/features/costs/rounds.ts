// The rounds of the usage in a scheduler: the event log is rolled up, and each event counts once. What is shown is exact without it, because
// readers add the events that it has not read; it keeps those few.
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { workOff } from '../../work-off.ts';
import { countExisting, countSessions, rollUp, sampleMinute, trimUsage } from './store/roll-up.ts';

const ROLL_UP_MS = 1_000;
/** Every so many rounds, what waits and what runs is sampled, sessions are counted, and what is old is deleted. */
const RARE_ROUNDS = 10;

export function openUsageRounds({ service: { database }, logger }: Process): ProcessPart {
  let isCounted = false;
  let rounds = 0;
  async function round(signal: AbortSignal): Promise<void> {
    if (!isCounted) {
      const isNews = await countExisting(database);
      if (isNews) logger.info('Turns, messages and usage from before the upgrade are now included in the totals');
      isCounted = true;
    }
    await workOff(() => rollUp(database), { signal });
    if (rounds++ % RARE_ROUNDS > 0) return;
    await sampleMinute(database);
    for (const portion of [countSessions, trimUsage]) await workOff(() => portion(database), { signal });
  }
  return {
    rounds: [{ round, pauseMs: every(ROLL_UP_MS), failure: 'Usage could not be rolled up; the next round retries' }],
  };
}
