// Heartbeats in a scheduler.
import { newId } from '../../ids.ts';
import { metricIn } from '../../metrics.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { trims } from '../../kernel/queue/start-rounds.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import { openPolls, syncHeartbeats, type Polls } from './schedule-heartbeats.ts';
import { HAS_POLLS_SQL, nextPollInMs, renewPolls, trimPolls } from './store/heartbeats.ts';

const TRIM_MS = 3_600_000;

export function openHeartbeats({
  service,
  logger,
  metrics,
}: Pick<Process, 'service' | 'logger' | 'metrics'>): ProcessPart {
  const { config, database } = service;
  const polls = metrics === null ? undefined : metricIn(metrics, 'holdfast_heartbeats_total');
  const owner = newId<string>();
  const onPolled = (result: string): void => polls?.inc({ result });
  let opened: Polls | undefined;
  return {
    schedule: {
      work: { sql: HAS_POLLS_SQL, values: () => ({ pollOwner: owner }) },
      sync: async () => syncHeartbeats(service, await readDatabaseTime(database)),
      async start(signal) {
        opened ??= openPolls({ ...service, logger, owner, signal, onPolled });
        // With as many checks as there may be, the next tick looks again.
        return (await opened.start()) ? await nextPollInMs(database) : null;
      },
    },
    rounds: [trims('heartbeats', () => trimPolls(database, config.events.retention), TRIM_MS)],
    // Any scheduler takes over what this one has claimed and not ended.
    async stop() {
      await opened?.ended();
      await renewPolls(database, { owner, leaseMs: 0 }).catch((error: unknown) =>
        logger.debug({ err: error }, 'Leases of heartbeat polls could not be released'),
      );
    },
  };
}
