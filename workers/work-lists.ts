// The work lists of a scheduler (docs/decisions/0077): each is worked off in rounds, any number of schedulers may, and the database decides which
// of them takes what. A round that a crash has broken off is done again by the next one.
import type { Logger } from '../src/logger.ts';
import { runBulkRound } from '../src/features/bulk-actions/use-cases.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';
import { trimBatches } from '../src/features/batches/store/control.ts';
import { trimBulkActions } from '../src/features/bulk-actions/store.ts';
import { trimClientFiles } from '../src/features/openai/store/client-files.ts';
import { endStalled } from '../src/kernel/queue/end-overdue.ts';
import { beginRetention, RETENTION_KINDS } from '../src/features/retention/retention-kinds.ts';
import { trimEvents } from '../src/features/retention/trim-events.ts';
import { countExisting, countSessions, rollUp, sampleMinute, trimUsage } from '../src/features/costs/store/roll-up.ts';
import { trimWorkers } from '../src/kernel/processes/report-worker.ts';
import { workOff } from '../src/work-off.ts';
import { runBatchRound, type BatchParts } from '../src/features/batches/batch-round.ts';
import { every, startRounds, type Rounds } from '../src/kernel/queue/start-rounds.ts';

const ROLL_UP_MS = 1_000;
const TIDY_ROUND_MS = 60_000;
/** Work of which there is much more often some than the scheduler ticks. */
const CLOSE_ROUNDS = { first: 0, min: 10, max: 1_000 };

/** Starts all of them. Returns the function that ends them after the rounds in progress. */
export function startWorkLists(parts: BatchParts): () => Promise<void> {
  const { database, logger } = parts;
  const lists: Omit<Rounds, 'database'>[] = [
    {
      round: (signal) => runBatchRound(parts, signal),
      pauseMs: CLOSE_ROUNDS,
      failure: 'Round of batches failed; the next round retries',
    },
    {
      round: () => runBulkRound(parts),
      pauseMs: CLOSE_ROUNDS,
      failure: 'Round of bulk actions failed; the next round retries',
    },
    {
      round: usageRound(parts, logger),
      pauseMs: every(ROLL_UP_MS),
      failure: 'Usage could not be rolled up; the next round retries',
    },
    {
      round: (signal) => runRetention(parts, logger, signal),
      pauseMs: { ...every(TIDY_ROUND_MS), first: 0 },
      failure: 'Deletion of old rows failed; the next round retries',
    },
    {
      round: (signal) => keepHouse(parts, logger, signal),
      pauseMs: every(TIDY_ROUND_MS),
      failure: 'Housekeeper round failed; the next round retries',
    },
  ];
  const enders = lists.map((list) => startRounds({ ...list, database }));
  return async () => void (await Promise.all(enders.map((end) => end())));
}

/** Every so many rounds, what waits and what runs is sampled, sessions are counted, and what is old is deleted. */
const RARE_ROUNDS = 10;

/** Rolls the event log up: each event counts once. What is shown is exact without it, because readers add the events that it has not read; it keeps those few. */
function usageRound({ database }: Service, logger: Logger): Rounds['round'] {
  let isCounted = false;
  let rounds = 0;
  return async (signal) => {
    if (!isCounted) {
      const isNews = await countExisting(database);
      if (isNews) logger.info('Turns, messages and usage from before the upgrade are now included in the totals');
      isCounted = true;
    }
    await workOff(() => rollUp(database), { signal });
    if (rounds++ % RARE_ROUNDS > 0) return;
    await sampleMinute(database);
    for (const portion of [countSessions, trimUsage]) await workOff(() => portion(database), { signal });
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

/** Deletes what has its own age, and ends what would wait without end. */
async function keepHouse({ database, config, publish }: Service, logger: Logger, signal: AbortSignal): Promise<void> {
  await workOff(() => trimEvents(database, config.events.retention), { signal });
  await trimWorkers(database, config.events.retention);
  for (const portion of [trimClientFiles, trimBatches, trimBulkActions])
    await workOff(() => portion(database, config.batches.retention), { signal });
  const { runs } = publish(await endStalled(database, config.messages.queue));
  if (runs > 0) logger.error({ runs }, 'Subagents that had stopped without a result were ended');
}
