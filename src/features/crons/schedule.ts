// Crons in a scheduler: those that are due are fired, fires that have ended are settled, and old ones are deleted.
import { isDeepStrictEqual } from 'node:util';
import type { CronDefinition } from './rules/cron.ts';
import { newId } from '../../ids.ts';
import { findFirstSlot, toDefinition } from './use-cases.ts';
import { changeCron, createCron, disableCron, readConfigCrons, readDueCrons, type Cron } from './store/crons.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import { fireDueCrons, giveNotices, settleEndedFires, type CronMeter, type CronParts } from './schedule-crons.ts';
import type { Registry } from 'prom-client';
import { metricIn } from '../../metrics.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every, trims } from '../../kernel/queue/start-rounds.ts';
import { HAS_DUE_SQL, HAS_OVER_SQL, retireCrons, trimFires } from './store/settle-fires.ts';

type CronJob = CronParts['config']['cron']['jobs'][number];

const GONE = 'no longer in the configuration';

// The crons of the configuration file, stored beside those created through the API and tools. A cron of the file is identified by its
// agent and name; its row is updated only when its entry in the file changes, so that a restart moves no slot. One that is removed
// from the file is disabled: its history stays.

/** Makes the crons of origin `config` equal to the file. Safe when several schedulers start at the same time. */
export async function reconcileConfigCrons({ config, database, logger }: CronParts, nowMs: number): Promise<void> {
  const kept = await readConfigCrons(database);
  const named = new Set<string>();
  for (const job of config.cron.jobs) {
    const definition = toDefinition(job, { config, nowMs });
    const before = kept.find(({ agentId, name }) => agentId === definition.agentId && name === definition.name);
    const isEnabled = job.enabled ?? true;
    if (before === undefined) await create(database, definition, isEnabled, nowMs);
    else {
      named.add(before.id);
      await update(database, before, { definition: anchored(definition, job, before), isOff: !isEnabled, nowMs });
    }
  }
  for (const cron of kept) {
    if (named.has(cron.id) || cron.disabledReason === GONE) continue;
    logger.info({ cronId: cron.id, name: cron.name }, 'Cron is no longer in the configuration and was disabled');
    await disableCron(database, cron, { reason: GONE, noticeId: null });
  }
}

async function create(
  database: CronParts['database'],
  definition: CronDefinition,
  isEnabled: boolean,
  nowMs: number,
): Promise<void> {
  const id = newId<string>();
  // Of two schedulers at the same time, one creates it.
  const causeKey = `config:${definition.agentId}:${definition.name}`;
  const slot = findFirstSlot(id, definition.schedule, nowMs);
  await createCron(database, { id, origin: 'config', causeKey, isEnabled, ...definition, ...slot });
}

/** A step without an anchor began when the cron was first seen. */
function anchored(definition: CronDefinition, job: CronJob, before: Cron): CronDefinition {
  const { schedule } = definition;
  if (schedule.kind !== 'every' || before.schedule.kind !== 'every') return definition;
  const isSame =
    schedule.everyMs === before.schedule.everyMs && job.schedule.kind === 'every' && job.schedule.anchor === undefined;
  return isSame ? { ...definition, schedule: before.schedule } : definition;
}

/** Whether it was disabled through the API is kept, unless the file sets it or changes the cron. */
async function update(
  database: CronParts['database'],
  before: Cron,
  { definition, isOff, nowMs }: { definition: CronDefinition; isOff: boolean; nowMs: number },
): Promise<void> {
  const isBack = before.disabledReason === GONE;
  const isSame = isDeepStrictEqual(definitionIn(before), definition);
  if (isSame && !isBack && !(isOff && before.isEnabled)) return;
  const isEnabled = !isOff;
  const isSameSchedule = isDeepStrictEqual(before.schedule, definition.schedule) && !isBack;
  const slot = isSameSchedule ? {} : findFirstSlot(before.id, definition.schedule, nowMs);
  await changeCron(database, before, { ...definition, isEnabled, ...slot });
}

function definitionIn(cron: Cron): CronDefinition {
  const { name, agentId, schedule, target, payload, wake, misfire, delivery, deleteAfterRun, options } = cron;
  return { name, agentId, schedule, target, payload, wake, misfire, delivery, deleteAfterRun, options: options ?? {} };
}

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
      work: { sql: HAS_DUE_SQL },
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
        work: { sql: HAS_OVER_SQL },
        async round() {
          await retireCrons(database);
          await giveNotices(parts);
        },
        pauseMs: { ...every(TIDY_MS), first: 0 },
        failure: 'Crons that have ended could not be retired; the next round retries',
      },
      trims('fires of crons', () => trimFires(database), TRIM_MS),
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
