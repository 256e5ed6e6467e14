// Crons in a scheduler: those of the file are stored, those that are due are fired, fires that have
// ended are settled, and old ones are deleted. Plans are made from rows by pure functions; a
// statement carries each out, if it still fits. Nothing here is remembered between two rounds.
import { isDeepStrictEqual } from 'node:util';
import { type CronDefinition, noticeText, toSessionKey } from './rules/cron.ts';
import { newId } from '../../ids.ts';
import { buildTickEffect, findFirstSlot, toDefinition } from './use-cases.ts';
import { changeCron, createCron, disableCron, readConfigCrons, readDueCrons, type Cron } from './store/crons.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import type { Registry } from 'prom-client';
import { metricIn } from '../../metrics.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every, trims } from '../../kernel/queue/start-rounds.ts';
import {
  HAS_DUE_SQL,
  HAS_OVER_SQL,
  retireCrons,
  trimFires,
  closeNotice,
  readOwedNotices,
  settleFire,
  settleFires,
} from './store/settle-fires.ts';
import { budgetBookOf } from '../budgets/rounds.ts';
import { isAgent } from '../../config.ts';
import { BUDGET_REACHED, type BudgetFacts } from '../budgets/rules/budget.ts';
import type { MessageId, SystemEventId } from '../../core/ids.ts';
import {
  decideCronRunEffect,
  DONE,
  planTicks,
  type Tick,
  type TickPlan,
  type TickEffect,
  type Firing,
} from './rules/fires.ts';
import { computeStagger, type Timetable } from './rules/timetable.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import type { Logger } from '../../logger.ts';
import { buildTimetable } from './config.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { fireCrons } from './store/fire-crons.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import { enqueueSystemEvent } from '../../kernel/inbox/system-events.ts';

export interface CronParts extends Pick<Service, 'config' | 'database' | 'inbox' | 'publish'> {
  logger: Logger;
  /** Absent: nothing counts. */
  meter?: CronMeter;
}

export interface CronMeter {
  /** This many slots of a cron were fired, missed or skipped. */
  fired: (status: 'fired' | 'missed' | 'skipped', slots: number) => void;
  /** A slot was fired so long after its time. */
  lagged: (lagMs: number) => void;
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

/** Why a cron is disabled whose only slot had passed when a scheduler first saw it. */
const TOO_LATE = 'its time has passed';

/** Fires the crons that are due; true when there may be more to fire immediately. */
export async function fireDueCrons(parts: CronParts, due: readonly Cron[], nowMs: number): Promise<boolean> {
  const planned = await Promise.all(due.map((cron) => planFiring(parts, cron, nowMs)));
  const fitting = planned.filter((one) => one !== null);
  const firings = fitting.map(({ firing }) => firing);
  const applied = parts.publish(await fireCrons(parts.database, firings));
  for (const plan of fitting) {
    const fired = applied.fired.get(plan.firing.cronId);
    if (fired === undefined) continue;
    logPassedTicks(parts.logger, plan.firing);
    countTicks(parts, plan, fired);
  }
  return fitting.some(({ hasMore }) => hasMore);
}

/**
 * Logs the slots of a cron that the policy did not fire: one line for all of a plan, because an
 * outage may miss hundreds.
 */
function logPassedTicks(logger: Logger, { cronId, ticks }: Firing): void {
  const passed = ticks.map(({ tick }) => tick).filter((tick) => tick.kind !== 'fire');
  const [first] = passed;
  if (first === undefined) return;
  const reasons = [...new Set(passed.map(({ reason }) => reason))];
  logger.warn(
    {
      cronId,
      code: reasons.join(','),
      ticks: passed.reduce((sum, { count }) => sum + count, 0),
      scheduledFor: new Date(first.slotMs).toISOString(),
    },
    'Cron ticks not fired',
  );
}

function countTicks({ meter }: CronParts, { firing, lagMs }: PlannedFiring, fired: number): void {
  if (fired > 0) meter?.lagged(lagMs);
  meter?.fired('fired', fired);
  const due = firing.ticks.filter(({ tick }) => tick.kind === 'fire').length;
  meter?.fired('skipped', Math.max(0, due - fired));
  for (const { tick } of firing.ticks) if (tick.kind !== 'fire') meter?.fired(tick.kind, tick.count);
}

interface PlannedFiring {
  firing: Firing;
  /** How long ago its first slot was due, in milliseconds. */
  lagMs: number;
  hasMore: boolean;
}

/** The plan for a cron; null when it has no valid timetable (it is disabled) or nothing is due. */
async function planFiring(parts: CronParts, cron: Cron, nowMs: number): Promise<PlannedFiring | null> {
  const { config } = parts;
  if (cron.nextSlotMs === null || cron.dueMs === null) return null;
  const timetable = await timetableOrDisable(parts, cron);
  if (timetable === null) return null;
  const plan = planTicks({
    timetable,
    slotMs: cron.nextSlotMs,
    staggerMs: cron.dueMs - cron.nextSlotMs,
    notBeforeMs: cron.notBeforeMs,
    policy: cron.misfire ?? config.cron.misfire,
    maxCatchUp: config.cron.maxCatchUp,
    nowMs,
  });
  if (plan.ticks.length === 0) return null;
  const ticks = budgetBookOf(parts).reached(toBudgetFacts(cron)) === null ? plan.ticks : heldBack(plan, cron);
  const effect = await buildTickEffect(parts, cron, nowMs);
  const firing = buildFiring(cron, { plan: { ...plan, ticks }, timetable }, effect);
  return { firing, lagMs: nowMs - cron.dueMs, hasMore: plan.hasMore };
}

function toBudgetFacts(cron: Cron): BudgetFacts {
  return { agentId: cron.agentId, sessionKey: toSessionKey(cron), keyName: null, batchId: null };
}

/**
 * The slots of a plan while a budget is reached: those that would cause turns are skipped. A cron
 * without a further slot waits instead.
 */
function heldBack({ ticks, nextSlotMs }: TickPlan, { payload }: Cron): Tick[] {
  if (nextSlotMs === null || payload.kind !== 'agentTurn') return ticks;
  return ticks.map((tick) =>
    tick.kind === 'fire' ? { kind: 'skipped', slotMs: tick.slotMs, reason: BUDGET_REACHED, count: 1 } : tick,
  );
}

async function timetableOrDisable({ database, logger }: CronParts, cron: Cron): Promise<Timetable | null> {
  try {
    return buildTimetable(cron.schedule);
  } catch (error) {
    // It was valid when it was stored, but this machine may know other time zones.
    logger.error({ err: error, cronId: cron.id }, 'Next slot of a cron could not be computed; the cron was disabled');
    await disableCron(database, cron, { reason: (error as Error).message, noticeId: newId<SystemEventId>() });
    return null;
  }
}

function buildFiring(
  cron: Cron,
  { plan, timetable }: { plan: TickPlan; timetable: Timetable },
  effect: TickEffect,
): Firing {
  const { nextSlotMs } = plan;
  const isOver = nextSlotMs === null && !plan.ticks.some(({ kind }) => kind === 'fire');
  return {
    ...effect,
    cronId: cron.id,
    revision: cron.revision,
    // Read together with the plan's other facts.
    firstSlotMs: cron.nextSlotMs as number,
    ticks: plan.ticks.map((tick) => ({ tick, messageId: newId<MessageId>() })),
    nextSlotMs,
    dueMs: nextSlotMs === null ? null : nextSlotMs + computeStagger(timetable, cron.id),
    disabledReason: isOver ? TOO_LATE : null,
  };
}

/**
 * Settles the fires whose inputs are settled, and applies the consequences to their crons. `nowMs`
 * is the database's time.
 */
export async function settleEndedFires(parts: CronParts, nowMs: number): Promise<void> {
  const { database, logger } = parts;
  for (const fire of await settleFires(database)) {
    const aftermath = decideCronRunEffect(fire.end, fire.cron, nowMs);
    const { disabledReason: reason } = aftermath;
    const isNoticeOwed = reason !== null && reason !== DONE;
    await settleFire(database, fire, aftermath, isNoticeOwed ? newId<SystemEventId>() : null);
    if (isNoticeOwed) logger.warn({ cronId: fire.cronId, reason }, 'Cron was disabled');
  }
}

/**
 * Notifies the main sessions of crons that were disabled; each notice is given once, also after a
 * crash.
 */
export async function giveNotices({ database, config, inbox, publish }: CronParts): Promise<void> {
  for (const notice of await readOwedNotices(database)) {
    if (isAgent(config, notice.agentId)) {
      const event = {
        id: notice.noticeId,
        sessionId: await inbox.ensureSession(buildNewSession(canonicalSessionKey(`agent:${notice.agentId}:main`))),
        text: noticeText(notice),
        // No reminder: it waits for the next prompt.
        contextKey: `notice:${notice.cronId}`,
        // Its name may have come from anywhere.
        isTrusted: notice.origin !== 'agent',
      };
      publish(await enqueueSystemEvent(database, event));
    }
    await closeNotice(database, notice.noticeId);
  }
}

// The crons of the configuration file, stored beside those created through the API and tools. A
// cron of the file is identified by its agent and name; its row is updated only when its entry in
// the file changes, so that a restart moves no slot. One that is removed from the file is disabled:
// its history stays.

type CronJob = CronParts['config']['cron']['jobs'][number];

const GONE = 'no longer in the configuration';

/**
 * Makes the crons of origin `config` equal to the file. Safe when several schedulers start at the
 * same time.
 */
export async function reconcileConfigCrons({ config, database, logger }: CronParts, nowMs: number): Promise<void> {
  const kept = await readConfigCrons(database);
  const named = new Set<string>();
  for (const job of config.cron.jobs) {
    const definition = toDefinition(job, { config, nowMs });
    const before = kept.find(({ agentId, name }) => agentId === definition.agentId && name === definition.name);
    const isEnabled = job.enabled ?? true;
    if (before === undefined) {
      const id = newId<string>();
      // If two schedulers do this at the same time, one creates it.
      const causeKey = `config:${definition.agentId}:${definition.name}`;
      const slot = findFirstSlot(id, definition.schedule, nowMs);
      await createCron(database, { id, origin: 'config', causeKey, isEnabled, ...definition, ...slot });
    } else {
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
