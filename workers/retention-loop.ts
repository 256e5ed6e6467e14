// Deletes old rows, in the scheduler role. Each kind is worked off in small statements with a pause after each that is at least as long as the
// statement took, so that deletion uses at most half of one connection and at most some thousand rows per second.
import { pause } from '../src/clock.ts';
import type { Logger } from '../src/logger.ts';
import type { Service } from '../src/service/service.ts';
import { beginRetention, deleteOldRows, RETENTION_KINDS } from '../src/store/retention/retention-kinds.ts';
import { every, startRounds } from './start-rounds.ts';

const ROUND_MS = 60_000;
/** The shortest pause between two statements. */
const BREATH_MS = 200;

/** Starts it. Returns the function that ends it after the statement in progress. */
export function startRetention({ database, config }: Service, logger: Logger): () => Promise<void> {
  return startRounds({
    database,
    async round(signal) {
      await runRetention({ database, config }, logger, signal);
      return false;
    },
    failure: 'Deletion of old rows failed; the next round retries',
    pauseMs: { ...every(ROUND_MS), first: 0 },
  });
}

/** One round over all kinds that have an age. */
export async function runRetention(
  { database, config }: Pick<Service, 'database' | 'config'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  await beginRetention(database);
  for (const each of RETENTION_KINDS) {
    const keepMs = config.retention[each.setting];
    while (keepMs !== undefined && !signal.aborted) {
      const begin = performance.now();
      const step = await deleteOldRows(database, each, keepMs);
      if (step === null) break;
      if (!step.hasMore) {
        const { kind, setting } = each;
        if (step.deletedInPass > 0)
          logger.info({ kind, setting, deleted: step.deletedInPass }, 'Old rows were deleted');
        break;
      }
      await pause(Math.max(BREATH_MS, performance.now() - begin), signal);
    }
  }
}
