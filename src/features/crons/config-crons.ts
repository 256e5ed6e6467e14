// The crons of the configuration file, stored beside those created through the API and tools. A cron of the file is identified by its
// agent and name; its row is updated only when its entry in the file changes, so that a restart moves no slot. One that is removed
// from the file is disabled: its history stays.
import { isDeepStrictEqual } from 'node:util';
import type { CronDefinition } from '../../core/schedule/cron.ts';
import { newId } from '../../ids.ts';
import { toDefinition, findFirstSlot } from '../../schedule/cron-definition.ts';
import { changeCron, createCron, disableCron, readConfigCrons, type Cron } from './store/crons.ts';
import type { CronParts } from './schedule-crons.ts';

type CronJob = CronParts['config']['cron']['jobs'][number];

const GONE = 'no longer in the configuration';

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
