// Crons in a scheduler.
import type { Registry } from 'prom-client';
import { metricIn } from '../../metrics.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every, trims } from '../../kernel/queue/start-rounds.ts';
import { reconcileConfigCrons } from './config-crons.ts';
import { fireDueCrons, giveNotices, settleEndedFires, type CronMeter } from './schedule-crons.ts';
import { readDatabaseTime, readDueCrons } from './store/crons.ts';
import { retireCrons, trimFires } from './store/settle-fires.ts';

/** Crons that are fired in one go. */
const DUE_MAX = 100;
/** Goes for crons with many due slots, before other work of the scheduler continues. */
const GOES_MAX = 50;
const TIDY_MS = 5_000;
const TRIM_MS = 3_600_000;

export function openCrons({ service, logger, metrics }: Pick<Process, 'service' | 'logger' | 'metrics'>): ProcessPart {
  const { config, database } = service;
  const parts = { ...service, logger, ...(metrics === null ? {} : { meter: createCronMeter(metrics) }) };
  /** The database's time, of the last go. */
  let nowMs = 0;
  return {
    schedule: {
      sync: async () => reconcileConfigCrons(parts, await readDatabaseTime(database)),
      async start(signal) {
        for (let go = 1; ; go += 1) {
          const { due, nextInMs, ...read } = await readDueCrons(database, config.cron.enabled ? DUE_MAX : 0);
          ({ nowMs } = read);
          const hasMore = await fireDueCrons(parts, due, nowMs);
          if ((!hasMore && due.length < DUE_MAX) || go >= GOES_MAX || signal.aborted) {
            return config.cron.enabled ? nextInMs : null;
          }
        }
      },
      settle: () => settleEndedFires(parts, nowMs),
    },
    rounds: [
      {
        async round() {
          await retireCrons(database);
          await giveNotices(parts);
        },
        pauseMs: { ...every(TIDY_MS), first: 0 },
        failure: 'Crons that have ended could not be retired; the next round retries',
      },
      trims(() => trimFires(database), TRIM_MS),
    ],
  };
}

function createCronMeter(registry: Registry): CronMeter {
  const fires = metricIn(registry, 'holdfast_cron_fires_total');
  const lag = metricIn(registry, 'holdfast_cron_lag_seconds');
  return {
    fired: (status, slots) => fires.inc({ status }, slots),
    lagged: (lagMs) => lag.observe(Math.max(0, lagMs) / 1000),
  };
}
