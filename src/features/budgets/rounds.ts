// Budgets in a process: those of the configuration hold before it makes its first call. The rounds
// of a scheduler settle what calls have cost that no process has settled, release reservations that
// a crash has left, and wake turns that wait for room.
import type { Config } from '../../config.ts';
import type { BudgetSettings } from './rules/budget.ts';
import { toMicros } from '../../core/prices.ts';
import type { Database } from '../../database/database.ts';
import { newId } from '../../ids.ts';
import { BudgetBook } from './store/budget-book.ts';
import { changeBudget, createBudget, HAVE_CHANGED_SQL, syncBudgets, type BudgetChange } from './store/budgets.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every, startRounds } from '../../kernel/queue/start-rounds.ts';
import { workOff } from '../../work-off.ts';
import { HAS_TRACES_SQL, releaseReservations, wakeBudgetWaiters } from './store/reservations.ts';
import { settleLeftCosts } from './store/settle-costs.ts';

/** One for each process, which has one database. */
const books = new WeakMap<Database, BudgetBook>();

/** The budgets that hold, as this process knows them: none until `storeBudgets`. */
export function budgetBookOf({ database }: Pick<Service, 'database'>): BudgetBook {
  const book = books.get(database) ?? new BudgetBook(database);
  books.set(database, book);
  return book;
}

/** Stores the budgets of the configuration, if it has `budgets`, and reads all that hold. */
export async function storeBudgets(service: Service): Promise<void> {
  const { database, publish, config } = service;
  if (config.budgets !== undefined) publish(await syncBudgets(database, config.budgets.map(toRow)));
  await budgetBookOf(service).read();
}

function toRow({ limitUsd, ...settings }: NonNullable<Config['budgets']>[number]): BudgetSettings & { id: string } {
  return { ...settings, id: newId<string>(), limitMicros: toMicros(limitUsd) };
}

/**
 * Makes a budget and returns its id. Rejects with a violated primary key when another request has
 * stored the key; see `isKeyTaken`.
 */
export async function addBudget(
  service: Service,
  settings: BudgetSettings,
  request: Parameters<typeof createBudget>[2],
): Promise<string> {
  const id = newId<string>();
  await createBudget(service.database, { ...settings, id }, request);
  await budgetBookOf(service).read();
  return id;
}

/**
 * Changes or removes a budget: in this process at once, in all others within a second. The turns
 * that wait for it ask again.
 */
export async function editBudget(
  service: Service,
  id: string,
  changes: Parameters<typeof changeBudget>[2],
): Promise<BudgetChange> {
  const { result } = service.publish(await changeBudget(service.database, id, changes));
  await budgetBookOf(service).read();
  return result;
}

/** How old the budgets are at most, while the database answers. */
const READ_MS = 1_000;
const TIDY_MS = 5_000;

export async function openBudgetBook({ service, live, watch }: Process): Promise<ProcessPart> {
  const { database } = service;
  const book = budgetBookOf(service);
  await storeBudgets(service);
  live.follow({ store: (next) => storeBudgets({ ...service, config: next }) });
  // Until nothing of the process works any more: turns make calls while it drains.
  const stop = startRounds({
    database,
    watch,
    work: { sql: HAVE_CHANGED_SQL, values: () => ({ budgetsHash: book.hash }) },
    round: async () => void (await book.read()),
    pauseMs: every(READ_MS),
    failure: 'Budgets could not be read; they stay as they are known',
  });
  return { stop };
}

export function openBudgetRounds({ service }: Pick<Process, 'service'>): ProcessPart {
  const { database, publish } = service;
  async function round(signal: AbortSignal): Promise<void> {
    if (!budgetBookOf(service).wasInUse) return;
    await settleLeftCosts(database);
    await workOff(() => releaseReservations(database), { signal });
    publish(await wakeBudgetWaiters(database));
  }
  const work = {
    sql: `$wereBudgets::boolean and (${HAS_TRACES_SQL})`,
    values: () => ({ wereBudgets: budgetBookOf(service).wasInUse }),
  };
  const pauseMs = { ...every(TIDY_MS), first: 0 };
  return {
    rounds: [{ work, round, pauseMs, failure: 'Budgets could not be tidied; the next round retries' }],
  };
}
