// The rounds of retention in a scheduler.
import type { Logger } from '../../logger.ts';
import { trimWorkers } from '../../kernel/processes/report-worker.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every, TIDY_ROUND_MS, trims } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { workOff } from '../../work-off.ts';
import { beginRetention, RETENTION_KINDS } from './retention-kinds.ts';
import { trimEvents } from './trim-events.ts';

export function openRetention({ service, logger }: Process): ProcessPart {
  const { database, config } = service;
  return {
    rounds: [
      {
        round: (signal) => runRetention(service, logger, signal),
        pauseMs: { ...every(TIDY_ROUND_MS), first: 0 },
        failure: 'Deletion of old rows failed; the next round retries',
      },
      trims(async () => {
        if (await trimEvents(database, config.events.retention)) return true;
        await trimWorkers(database, config.events.retention);
        return false;
      }),
    ],
  };
}

/** The shortest pause between two statements that delete old rows. */
const BREATH_MS = 200;

/**
 * Deletes old rows of all kinds that have an age. With the pauses between its small statements, which are at least as long as these took, it uses at
 * most half of one connection, and deletes at most some thousand rows per second.
 */
export async function runRetention(
  { database, config }: Pick<Service, 'database' | 'config'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  await beginRetention(database);
  for (const deleteSome of RETENTION_KINDS) {
    const { kind, setting } = deleteSome;
    const keepMs = config.retention[setting];
    if (keepMs === undefined) continue;
    const portion = async (): Promise<boolean> => {
      const step = await deleteSome(database, keepMs);
      if (step?.hasMore === false && step.deletedInPass > 0)
        logger.info({ kind, setting, deleted: step.deletedInPass }, 'Old rows were deleted');
      return step?.hasMore === true;
    };
    await workOff(portion, { signal, pauseMs: BREATH_MS });
  }
}
