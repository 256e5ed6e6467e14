// The housekeeper of the scheduler role: deletes old rows and ends what would wait without end. Any number may run; each round is bounded.
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/service/service.ts';
import { endStalled } from '../src/store/end-overdue.ts';
import { trimClientFiles } from '../src/store/client-files.ts';
import { trimEvents } from '../src/store/trim-events.ts';
import { trimWorkers } from '../src/store/workers/report-worker.ts';

const ROUND_MS = 60_000;

/** Trims old events and ends stuck runs now and then. Returns the function that ends it. */
export function startHousekeeper(service: Service, logger: Logger): () => Promise<void> {
  const { database, config, publish } = service;
  let isStopped = false;
  let round: Promise<void> = Promise.resolve();

  async function work(): Promise<void> {
    try {
      while (!isStopped && (await trimEvents(database, config.events.retention)));
      await trimWorkers(database, config.events.retention);
      while (!isStopped && (await trimClientFiles(database, config.batches.retention)));
      const { runs } = publish(await endStalled(database, config.messages.queue));
      if (runs > 0) logger.error({ runs }, 'Subagents that had stopped without a result were ended');
    } catch (error) {
      database.outages.report(error, 'Housekeeper round failed; the next round retries');
    }
  }

  const timer = setInterval(() => {
    round = round.then(work);
  }, ROUND_MS);
  return async () => {
    isStopped = true;
    clearInterval(timer);
    await round;
  };
}
