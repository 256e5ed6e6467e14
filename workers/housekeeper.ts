// The housekeeper of the scheduler role: deletes old rows and ends what would wait without end. Any number may run; each round is bounded.
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/service/service.ts';
import { trimBatches } from '../src/store/batches/control.ts';
import { trimBulkActions } from '../src/store/bulk/bulk-actions.ts';
import { trimClientFiles } from '../src/store/client-files.ts';
import { endStalled } from '../src/store/end-overdue.ts';
import { trimEvents } from '../src/store/trim-events.ts';
import { trimWorkers } from '../src/store/workers/report-worker.ts';
import { every, startRounds } from './start-rounds.ts';

const ROUND_MS = 60_000;

/** Starts the rounds. Returns the function that ends them. */
export function startHousekeeper(service: Service, logger: Logger): () => Promise<void> {
  const { database, config, publish } = service;

  async function round(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted && (await trimEvents(database, config.events.retention)));
    await trimWorkers(database, config.events.retention);
    while (!signal.aborted && (await trimClientFiles(database, config.batches.retention)));
    while (!signal.aborted && (await trimBatches(database, config.batches.retention)));
    while (!signal.aborted && (await trimBulkActions(database, config.batches.retention)));
    const { runs } = publish(await endStalled(database, config.messages.queue));
    if (runs > 0) logger.error({ runs }, 'Subagents that had stopped without a result were ended');
    return false;
  }

  return startRounds({
    database,
    round,
    failure: 'Housekeeper round failed; the next round retries',
    pauseMs: every(ROUND_MS),
  });
}
