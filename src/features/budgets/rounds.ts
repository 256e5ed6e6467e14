// Budgets in a process: those of the configuration hold before it makes its first call. The rounds of a scheduler settle what calls have cost that no
// process has settled, release reservations that a crash has left, and wake turns that wait for room.
import type { Config } from '../../config.ts';
import type { BudgetSettings } from './rules/budget.ts';
import { toMicros } from '../../core/prices/call-cost.ts';
import type { Database } from '../../database/database.ts';
import { newId } from '../../ids.ts';
import { BudgetBook } from './store/budget-book.ts';
import { syncBudgets } from './store/budgets.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import { workOff } from '../../work-off.ts';
import { releaseReservations, wakeBudgetWaiters } from './store/reservations.ts';
import { settleLeftCosts } from './store/settle-costs.ts';

/** One for each process, which has one database. */
const books = new WeakMap<Database, BudgetBook>();

/** The budgets that hold, as this process knows them: none until `openBudgets`. */
export function budgetBookOf({ database }: Pick<Service, 'database'>): BudgetBook {
  const book = books.get(database) ?? new BudgetBook(database);
  books.set(database, book);
  return book;
}

/**
 * Stores those of the configuration, if it has any word on them, and reads all that hold, now and every second until the function that it
 * returns is called.
 */
export async function openBudgets(service: Service): Promise<() => Promise<void>> {
  const book = budgetBookOf(service);
  await storeBudgets(service);
  book.start();
  return () => book.stop();
}

/** Stores them, if the configuration has any word on them, and reads all that hold. */
export async function storeBudgets(service: Service): Promise<void> {
  const { database, publish, config } = service;
  if (config.budgets !== undefined) publish(await syncBudgets(database, config.budgets.map(toRow)));
  await budgetBookOf(service).read();
}

function toRow({ limitUsd, ...settings }: NonNullable<Config['budgets']>[number]): BudgetSettings & { id: string } {
  return { ...settings, id: newId<string>(), limitMicros: toMicros(limitUsd) };
}

const TIDY_MS = 5_000;

export async function openBudgetBook({ service, live }: Process): Promise<ProcessPart> {
  const stop = await openBudgets(service);
  live.follow({ store: (next) => storeBudgets({ ...service, config: next }) });
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
  const pauseMs = { ...every(TIDY_MS), first: 0 };
  return { rounds: [{ round, pauseMs, failure: 'Budgets could not be tidied; the next round retries' }] };
}
