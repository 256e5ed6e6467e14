// The overview and what needs a person, as the API shows them: the figures of the database with the budgets as this process knows them.
import { attentionItem, budgetItem, usedPercentOf } from '../core/attention.ts';
import { budgetName } from '../core/budget/budget.ts';
import { pointsOf, ratesOf } from '../core/overview.ts';
import { dollarsOf } from '../core/prices/call-cost.ts';
import type { Budget } from '../store/budgets/budgets.ts';
import { readAttention } from '../store/views/attention.ts';
import { readOverview, WAITING_MAX } from '../store/views/overview.ts';
import type { ApiContext } from './context.ts';
import type { Attention, Overview } from './schemas/overview.ts';

/** How old figures are at most that several requests share, in milliseconds. */
export const FIGURES_MS_MAX = 1_000;

/** Reads the figures of the overview. */
export async function readFigures({ reads, service }: ApiContext): Promise<Overview> {
  const { now, waiting, parked, lanes, spentTodayMicros, ...facts } = await readOverview(reads);
  const { minutes: read, ...measured } = facts;
  const minutes = read.map((minute) => ({
    ...minute,
    startsAtMs: Date.parse(minute.startsAt),
    waiting: minute.waiting === null ? null : Math.min(minute.waiting, WAITING_MAX),
  }));
  const oldestAt = lanes.flatMap((lane) => lane.oldestAt ?? []).toSorted()[0] ?? null;
  const running = lanes.reduce((sum, lane) => sum + lane.running, 0);
  return {
    now,
    waiting: { count: Math.min(waiting, WAITING_MAX), isCapped: waiting > WAITING_MAX, oldestAt },
    parked,
    running,
    slots: { inUse: running, total: lanes.reduce((sum, lane) => sum + lane.slots, 0) },
    ...ratesOf(minutes),
    ...measured,
    spentTodayUsd: dollarsOf(spentTodayMicros) ?? 0,
    budget: tightest(service.budgets.all),
    simulated: minutes.some(({ isSimulated }) => isSimulated),
    points: pointsOf(minutes, {
      nowMs: Date.parse(now),
      oldestMs: oldestAt === null ? null : Date.parse(oldestAt),
      waiting: Math.min(waiting, WAITING_MAX),
      running,
    }),
    lanes,
  };
}

/** Of the budgets but the caps of batches, the one of which the most is used. */
function tightest(budgets: readonly Budget[]): Overview['budget'] {
  const [budget] = budgets
    .filter(({ origin }) => origin !== 'batch')
    .toSorted((one, other) => usedPercentOf(other) - usedPercentOf(one));
  if (budget === undefined) return null;
  return {
    id: budget.id,
    name: budgetName(budget),
    limitUsd: dollarsOf(budget.limitMicros) ?? 0,
    spentUsd: dollarsOf(budget.spentMicros) ?? 0,
    usedPercent: usedPercentOf(budget),
  };
}

/** Reads what needs a person, errors first. */
export async function readTroubles({ reads, service }: ApiContext): Promise<Attention> {
  const facts = await readAttention(reads);
  const budgets = service.budgets.all
    .filter(({ origin }) => origin !== 'batch')
    .flatMap((one) => budgetItem(one) ?? []);
  const items = [...facts.map(attentionItem), ...budgets];
  return { items: [...items.filter(isError), ...items.filter((item) => !isError(item))] };
}

function isError({ severity }: { severity: string }): boolean {
  return severity === 'error';
}
