// Crons: their settings, past fires and next slots. Reading changes none of them (G20).
import { deleted } from '../../contract/answers.ts';
import { z } from 'zod';
import { cronInput, cronPatch, buildTimetable } from './config.ts';
import { findNextRun, toCronView, fires, listCrons, readRecentFires } from './views.ts';
import {
  slotsAfter,
  clockChangeBetween,
  costOfRuns,
  slotsInMonth,
  computeStagger,
  type ClockChange,
} from './rules/timetable.ts';
import { toDollars } from '../../core/prices.ts';
import { InvalidCronError, addCron, editCron, findNamedCron, removeCron, runCronNow } from './use-cases.ts';
import { newId } from '../../ids.ts';
import type { Cron } from './store/crons.ts';
import { readDatabaseTime } from '../../database/database-time.ts';
import type { ApiContext } from '../../api/context.ts';
import { conflict, requireFound, notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineRoute, defineList, defineRead, type Route } from '../../api/route.ts';
import { cron, cronFire, cronSlots, cronSummaries, type CronSlotView } from './contract.ts';
import { countText, idsText } from '../../contract/queries.ts';

const SLOTS_DEFAULT = 5;
const SLOTS_MAX = 1000;
/** How many next slots a summary shows for each cron. */
const SUMMARY_SLOTS = 3;
const FIXED = 'The cron is in the configuration file: change it there. Only whether it is enabled can be changed here.';
const conflictDoc = { description: 'The origin or state of the cron does not allow the request' };

const getCrons = defineList({
  operationId: 'listCrons',
  belongs: 'service',
  path: '/v1/crons',
  summary: 'Crons, newest first',
  filter: {
    agent: z.string().max(100).optional().describe('Only crons of this agent'),
    enabled: z.enum(['true', 'false']).optional().describe('`true`: only enabled crons; `false`: only disabled ones'),
  },
  shows: { description: 'A page of crons', item: cron },
  async list({ query: { agent, enabled } }, page, { context }) {
    const isEnabled = enabled === undefined ? undefined : enabled === 'true';
    const read = await listCrons(context.views, { agentId: agent, enabled: isEnabled }, page);
    return { ...read, items: read.items.map(toCronView) };
  },
});

const postCron = defineEffect({
  operationId: 'createCron',
  belongs: 'service',
  path: '/v1/crons',
  summary: 'Create a cron',
  body: cronInput,
  answers: { 201: { description: 'The cron', schema: cron }, 409: { description: 'The agent has too many crons' } },
  async perform({ body, idempotency }, { context }) {
    const made = await refusing(() =>
      addCron(context.service, { input: body, origin: 'api', causeKey: null, idempotency }),
    );
    if (made.kind === 'full')
      throw conflict('The agent has reached the largest number of crons. Delete one, then try again.');
    return { id: made.cron.id };
  },
  show: async ({ id }, _request, { context }) => toCronView(await findCron(context, id)),
});

const getCron = defineRead({
  operationId: 'getCron',
  belongs: 'service',
  path: '/v1/crons/{id}',
  summary: 'One cron',
  shows: { description: 'The cron', schema: cron },
  read: async ({ params }, { context }) => toCronView(await findCron(context, params.id)),
});

const patchCron = defineRoute({
  operationId: 'updateCron',
  belongs: 'service',
  method: 'PATCH',
  path: '/v1/crons/{id}',
  summary: 'Change a cron; a new schedule starts now and resets the number of failed runs',
  body: cronPatch,
  answers: { 200: { description: 'The updated cron', schema: cron }, 409: conflictDoc },
  async handle({ params, body }, { context }) {
    const changed = await refusing(() => editCron(context.service, { id: params.id, by: null }, body));
    switch (changed.kind) {
      case 'done':
        return { status: 200, body: toCronView(changed.cron) };
      case 'unknown':
        throw notFound(`cron ${params.id}`);
      case 'fixed':
      case 'foreign':
        throw conflict(FIXED);
      case 'busy':
        throw conflict('Another request changed the cron at the same time. Read the cron and try again.');
      default:
        return changed satisfies never;
    }
  },
});

const deleteCron = defineRoute({
  operationId: 'deleteCron',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/crons/{id}',
  summary: 'Delete a cron and its fires; the transcripts of its runs stay',
  answers: { 200: { description: 'Deleted', schema: deleted }, 409: conflictDoc },
  async handle({ params }, { context }) {
    const result = await removeCron(context.service, { id: params.id, by: null });
    if (result === 'unknown') throw notFound(`cron ${params.id}`);
    if (result !== 'done') throw conflict(FIXED);
    return { status: 200, body: { deleted: true } };
  },
});

const runCron = defineEffect({
  operationId: 'runCron',
  belongs: 'service',
  path: '/v1/crons/{id}/run',
  summary: 'Run a cron now; its schedule does not change',
  answers: {
    202: { description: 'The fire', schema: cronFire },
    429: { description: 'The inbox is full; nothing was stored' },
  },
  async perform({ params: { id }, idempotency }, { context }) {
    const result = await runCronNow(context.service, { id, by: null }, { causeKey: newId<string>(), idempotency });
    if (result.kind === 'unknown') throw notFound(`cron ${id}`);
    if (result.kind === 'full')
      throw new Problem(
        'inbox_full',
        'The inbox of the session of the cron is full. Wait for a reply, or raise limits.waitingPerSession.',
      );
    return { scheduledFor: result.scheduledFor.toISOString() };
  },
  show: async ({ scheduledFor }, { params: { id } }, { context }) =>
    requireFound(await fires.find(context.views, scheduledFor, { cronId: id }), `cron ${id}`),
});

const getFires = defineList({
  operationId: 'listFires',
  belongs: 'service',
  path: '/v1/crons/{id}/fires',
  summary: 'The fires of a cron, newest first',
  shows: { description: 'A page of fires', item: cronFire },
  pages: { isKey: isInstant },
  async list({ params }, page, { context }) {
    await findCron(context, params.id);
    return fires.list(context.views, { cronId: params.id }, page);
  },
});

const getNext = defineRead({
  operationId: 'listNextSlots',
  belongs: 'service',
  path: '/v1/crons/{id}/next',
  summary: 'The next slots of a cron as if it were enabled; the request changes nothing',
  query: z.strictObject({ count: countText.optional().describe('The number of slots; absent: 5') }),
  shows: { description: 'The slots, earliest first', schema: cronSlots },
  async read({ params, query }, { context }) {
    const kept = await findCron(context, params.id);
    const slots = nextSlots(
      kept,
      await readDatabaseTime(context.service.database),
      Math.min(query.count ?? SLOTS_DEFAULT, SLOTS_MAX),
    );
    return { items: slots };
  },
});

const getSummaries = defineRead({
  operationId: 'listCronSummaries',
  belongs: 'service',
  path: '/v1/crons/summaries',
  summary: 'The next slots, the last fires with their costs, and the expected cost per month of several crons',
  query: z.strictObject({ ids: idsText.describe('The ids of the crons') }),
  shows: { description: 'The crons that exist, newest first', schema: cronSummaries },
  async read({ query }, { context }) {
    const nowMs = await readDatabaseTime(context.service.database);
    const found = await readRecentFires(context.views, query.ids);
    return { items: found.map((each) => toSummary(each, nowMs)) };
  },
});

function toSummary({ cron: kept, fires }: Awaited<ReturnType<typeof readRecentFires>>[number], nowMs: number) {
  const timetable = buildTimetable(kept.schedule);
  const knownMicros = fires.filter(({ turnId }) => turnId !== null).flatMap(({ costMicros }) => costMicros ?? []);
  const slotCount = kept.isEnabled ? slotsInMonth(timetable, nowMs) : 0;
  const rests = kept.notBeforeMs !== null && kept.notBeforeMs > nowMs;
  return {
    cronId: kept.id,
    restsUntil: rests ? new Date(kept.notBeforeMs ?? nowMs).toISOString() : null,
    slots: kept.isEnabled ? nextSlots(kept, nowMs, SUMMARY_SLOTS) : [],
    fires,
    lastCost: costOfMicros(knownMicros[0] ?? null),
    month: { slotCount, ...costOfMicros(costOfRuns(slotCount, knownMicros)) },
  };
}

function costOfMicros(costMicros: number | null) {
  return { costUsd: toDollars(costMicros), costMicros };
}

function nextSlots(kept: Cron, nowMs: number, count: number): CronSlotView[] {
  const timetable = buildTimetable(kept.schedule);
  const staggerMs = computeStagger(timetable, kept.id);
  const first = kept.isEnabled ? findNextRun(kept).slotMs : null;
  const later = slotsAfter(timetable, first ?? nowMs, first === null ? count : count - 1);
  const slots = first === null ? later : [first, ...later];
  return slots.map((slotMs, at) => ({
    slotAt: new Date(slotMs).toISOString(),
    runAt: new Date(slotMs + staggerMs).toISOString(),
    clockChange: toClockChange(clockChangeBetween(timetable, slots[at - 1] ?? Math.min(nowMs, slotMs), slotMs)),
  }));
}

function toClockChange(change: ClockChange | null): CronSlotView['clockChange'] {
  if (change === null) return null;
  const { atMs, beforeMinutes, afterMinutes } = change;
  return {
    changedAt: new Date(atMs).toISOString(),
    offsetMinutesBefore: beforeMinutes,
    offsetMinutesAfter: afterMinutes,
  };
}

async function findCron(context: ApiContext, id: string): Promise<Cron> {
  return requireFound(await findNamedCron(context.service, { id, by: null }), `cron ${id}`);
}

async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof InvalidCronError)) throw error;
    const { path, message } = error;
    throw new Problem('invalid_body', `${path}: ${message}`, { errors: [{ path, message }], cause: error });
  }
}

function isInstant(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T[\d:.]{8,12}Z$/.test(text) && !Number.isNaN(Date.parse(text));
}

export const routes: Route[] = [
  getCrons,
  postCron,
  getSummaries,
  getCron,
  patchCron,
  deleteCron,
  runCron,
  getFires,
  getNext,
];
