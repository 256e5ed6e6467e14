// The crons' part of a scheduler's round: fires what is due, and settles what has ended. Plans are made from rows by pure functions; a
// statement carries each out, if it still fits. Nothing here is remembered between two rounds.
import { budgetBookOf } from '../budgets/rounds.ts';
import { isAgent, type Config } from '../../config.ts';
import { BUDGET_REACHED, type BudgetFacts } from '../budgets/rules/budget.ts';
import type { MessageId, SessionId, SystemEventId } from '../../core/ids.ts';
import { noticeText, toSessionKey } from './rules/cron.ts';
import { decideCronRunEffect, planTicks, type Tick, type TickPlan, type Firing } from './rules/fires.ts';
import { computeStagger, type Timetable } from './rules/timetable.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import type { Logger } from '../../logger.ts';
import { toTickInput } from './tick-input.ts';
import { buildTimetable } from './config.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { fireCrons } from './store/fire-crons.ts';
import { disableCron, type Cron } from './store/crons.ts';
import { readLastUrl } from '../../kernel/inbox/last-inputs.ts';
import { closeNotice, readOwedNotices, settleFire, settleFires } from './store/settle-fires.ts';
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

/** Logs the slots of a cron that the policy did not fire: one line for all of a plan, because an outage may miss hundreds. */
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
  const timetable = await understand(parts, cron);
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
  const sessionId = await ensureCronSession(parts, cron);
  const lastUrl =
    cron.delivery?.mode === 'last' ? await readLastUrl(parts.database, await findLastSession(parts, cron)) : null;
  const input = toTickInput(cron, { config, nowMs, eventId: newId<SystemEventId>(), lastUrl });
  const firing = buildFiring(cron, { plan: { ...plan, ticks }, timetable, sessionId, config }, input);
  return { firing, lagMs: nowMs - cron.dueMs, hasMore: plan.hasMore };
}

function toBudgetFacts(cron: Cron): BudgetFacts {
  return { agentId: cron.agentId, sessionKey: toSessionKey(cron), keyName: null, batchId: null };
}

/** The slots of a plan while a budget is reached: those that would cause turns are skipped. A cron without a further slot waits instead. */
function heldBack({ ticks, nextSlotMs }: TickPlan, { payload }: Cron): Tick[] {
  if (nextSlotMs === null || payload.kind !== 'agentTurn') return ticks;
  return ticks.map((tick) =>
    tick.kind === 'fire' ? { kind: 'skipped', slotMs: tick.slotMs, reason: BUDGET_REACHED, count: 1 } : tick,
  );
}

async function understand({ database, logger }: CronParts, cron: Cron): Promise<Timetable | null> {
  try {
    return buildTimetable(cron.schedule);
  } catch (error) {
    // It was checked when it was made: the zones of this machine may be others.
    logger.error({ err: error, cronId: cron.id }, 'Next slot of a cron could not be computed; the cron was disabled');
    await disableCron(database, cron, { reason: (error as Error).message, noticeId: newId<SystemEventId>() });
    return null;
  }
}

function buildFiring(
  cron: Cron,
  {
    plan,
    timetable,
    sessionId,
    config,
  }: { plan: TickPlan; timetable: Timetable; sessionId: SessionId; config: Config },
  input: ReturnType<typeof toTickInput>,
): Firing {
  const { nextSlotMs } = plan;
  const isOver = nextSlotMs === null && !plan.ticks.some(({ kind }) => kind === 'fire');
  return {
    cronId: cron.id,
    revision: cron.revision,
    // Read together with the plan's other facts.
    firstSlotMs: cron.nextSlotMs as number,
    sessionId,
    ...input,
    body: JSON.stringify(input.body),
    waitingMax: config.limits.waitingPerSession,
    ticks: plan.ticks.map((tick) => ({ tick, messageId: newId<MessageId>() })),
    nextSlotMs,
    dueMs: nextSlotMs === null ? null : nextSlotMs + computeStagger(timetable, cron.id),
    disabledReason: isOver ? TOO_LATE : null,
  };
}

function ensureCronSession({ inbox }: CronParts, cron: Cron): Promise<SessionId> {
  return inbox.ensureSession(buildNewSession(toSessionKey(cron)));
}

/** An isolated session receives no messages: the session that last received one for the agent counts. */
function findLastSession(parts: CronParts, cron: Cron): Promise<SessionId> {
  return ensureCronSession(parts, cron.target === 'isolated' ? { ...cron, target: 'main' } : cron);
}

/** Settles the fires whose inputs are settled, and applies the consequences to their crons. `nowMs` is the database's time. */
export async function settleEndedFires(parts: CronParts, nowMs: number): Promise<void> {
  const { database, logger } = parts;
  for (const fire of await settleFires(database)) {
    const aftermath = decideCronRunEffect(fire.end, fire.cron, nowMs);
    await settleFire(database, fire, aftermath, aftermath.isNoticeOwed ? newId<SystemEventId>() : null);
    if (aftermath.disabledReason !== null && aftermath.isNoticeOwed) {
      logger.warn({ cronId: fire.cronId, reason: aftermath.disabledReason }, 'Cron was disabled');
    }
  }
}

/** Notifies the main sessions of crons that were disabled; each notice is given once, also after a crash. */
export async function giveNotices({ database, config, inbox, publish }: CronParts): Promise<void> {
  for (const notice of await readOwedNotices(database)) {
    if (isAgent(config, notice.agentId)) {
      const event = {
        id: notice.noticeId,
        sessionId: await inbox.ensureSession(buildNewSession(canonicalSessionKey(`agent:${notice.agentId}:main`))),
        text: noticeText(notice),
        // No reminder: it waits for the next prompt.
        contextKey: `notice:${notice.cronId}`,
        isTrusted: true,
      };
      publish(await enqueueSystemEvent(database, event));
    }
    await closeNotice(database, notice.noticeId);
  }
}
