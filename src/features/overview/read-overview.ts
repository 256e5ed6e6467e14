// The overview and what needs a person, as the API shows them: the figures of the database with the
// budgets as this process knows them.
import { budgetBookOf } from '../budgets/rounds.ts';
import {
  attentionItem,
  attentionState,
  budgetItem,
  compareAttention,
  formatSubject,
  computeUsedPercent,
  isExplained,
  type AttentionFact,
  type AttentionMark,
  type Named,
} from './rules/attention.ts';
import { budgetName } from '../budgets/rules/budget.ts';
import { toPoints, computeRates } from './rules/figures.ts';
import { toProviders } from './rules/providers.ts';
import { toDollars } from '../../core/prices.ts';
import type { Budget } from '../budgets/store/budgets.ts';
import { readAttention, readAttentionMarks } from './views/attention.ts';
import { deriveAttentionId } from './store/attention-marks.ts';
import { WAITING_MAX } from '../costs/store/usage-rows.ts';
import { MINUTES, readOverview } from './views/overview.ts';
import type { ApiContext } from '../../api/context.ts';
import type { Readiness } from '../../contract/answers.ts';
import type { Attention, AttentionEntry, Overview } from './contract.ts';

// It needs nothing but the database.
export { markAttention } from './store/attention-marks.ts';

export async function readFigures({ reads, service }: ApiContext): Promise<Overview> {
  const { now, waiting, parked, lanes, spentTodayMicros, isTodaySimulated, ...facts } = await readOverview(reads);
  const { minutes: both, dayBefore, blocks, waits, ...measured } = facts;
  const [before, minutes] = [both.slice(0, MINUTES), both.slice(MINUTES)];
  const oldestAt = lanes.flatMap((lane) => lane.oldestAt ?? []).toSorted()[0] ?? null;
  const running = lanes.reduce((sum, lane) => sum + lane.running, 0);
  return {
    now,
    waiting: { count: Math.min(waiting, WAITING_MAX), isCapped: waiting > WAITING_MAX, oldestAt },
    parked,
    running,
    slots: { inUse: running, total: lanes.reduce((sum, lane) => sum + lane.slots, 0) },
    ...computeRates(minutes),
    ...measured,
    providers: toProviders(measured.models, blocks, waits),
    spentTodayUsd: toDollars(spentTodayMicros) ?? 0,
    budget: tightest(budgetBookOf(service).all),
    simulated: isTodaySimulated || minutes.some(({ isSimulated }) => isSimulated),
    points: toPoints(minutes, {
      nowMs: Date.parse(now),
      oldestMs: oldestAt === null ? null : Date.parse(oldestAt),
      waiting: Math.min(waiting, WAITING_MAX),
      running,
    }),
    dayBefore: {
      ...computeRates(before),
      ...dayBefore,
      costUsd: toDollars(before.reduce((sum, { costMicros }) => sum + costMicros, 0)) ?? 0,
      points: toPoints(before, null),
    },
    lanes,
  };
}

/** The budget of which the most is used; caps of batches do not count. */
function tightest(budgets: readonly Budget[]): Overview['budget'] {
  const [budget] = budgets
    .filter(({ origin }) => origin !== 'batch')
    .toSorted((one, other) => computeUsedPercent(other) - computeUsedPercent(one));
  if (budget === undefined) return null;
  return {
    id: budget.id,
    name: budgetName(budget),
    limitUsd: toDollars(budget.limitMicros) ?? 0,
    spentUsd: toDollars(budget.spentMicros) ?? 0,
    usedPercent: computeUsedPercent(budget),
  };
}

/** An item before what was decided about it is known. */
type Trouble = Omit<AttentionEntry, 'state' | 'mark'> & Named;

type Reading = Pick<ApiContext, 'reads' | 'service'>;

/** Reads what needs a person; `readiness` says which dependencies this process misses. */
export async function readTroubles(
  { reads, service }: Reading,
  readiness: Promise<Pick<Readiness, 'dependencies'>>,
): Promise<Trouble[]> {
  const [read, { dependencies }] = await Promise.all([readAttention(reads), readiness]);
  const failed = dependencies.filter(({ status }) => status === 'failed').map(missingDependency);
  const budgets = budgetBookOf(service)
    .all.filter(({ origin }) => origin !== 'batch')
    .flatMap((one) => {
      const item = budgetItem(one);
      const id = deriveAttentionId(`budget ${one.id}`);
      return item === null ? [] : [{ id, name: budgetName(one), ...item }];
    });
  const others = [...failed, ...read].map((fact) => {
    const id = deriveAttentionId(formatSubject(fact));
    return { id, name: fact.name, ...attentionItem(fact) };
  });
  return [...others, ...budgets];
}

/**
 * Adds what operators have decided, and sorts by consequence and age. `explained`: those that are
 * no items, because an item is their cause.
 */
export async function judgeTroubles(
  { reads }: Reading,
  troubles: readonly Trouble[],
): Promise<Attention & { explained: AttentionEntry[] }> {
  const marks = troubles.length === 0 ? new Map<string, AttentionMark>() : await readAttentionMarks(reads);
  const judged = troubles.map(({ name, ...trouble }) => ({ name, ...buildEntry(trouble, marks.get(trouble.id)) }));
  const entries = judged.map(({ name, ...entry }) => ({ entry, isLeftOut: isExplained({ ...entry, name }, judged) }));
  const listed = (isLeftOut: boolean): AttentionEntry[] =>
    entries.filter((one) => one.isLeftOut === isLeftOut).map(({ entry }) => entry);
  return { items: listed(false).toSorted(compareAttention), explained: listed(true) };
}

/** The same, as the API shows it. */
export async function withMarks(reading: Reading, troubles: readonly Trouble[]): Promise<Attention> {
  const { items } = await judgeTroubles(reading, troubles);
  return { items };
}

function missingDependency({ name, failedSince }: Readiness['dependencies'][number]): AttentionFact {
  return { kind: 'dependency', name, detail: null, count: 1, since: failedSince };
}

function buildEntry(trouble: Omit<Trouble, 'name'>, mark: AttentionMark | undefined): AttentionEntry {
  const state = attentionState(trouble, mark);
  if (mark === undefined || state === 'open') return { ...trouble, state, mark: null };
  const { by, at, until, reason } = mark;
  return { ...trouble, state, mark: { by, at, until, reason } };
}
