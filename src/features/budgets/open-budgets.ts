// Makes the budgets of the configuration hold, before the process makes its first call.
import type { Config } from '../../config.ts';
import type { BudgetSettings } from './rules/budget.ts';
import { toMicros } from '../../core/prices/call-cost.ts';
import { newId } from '../../ids.ts';
import { syncBudgets } from './store/budgets.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/** Stores them, if the configuration has any word on them, and reads all that hold, now and every second. */
export async function openBudgets(service: Service): Promise<void> {
  await storeBudgets(service);
  service.budgets.start();
}

/** Stores them, if the configuration has any word on them, and reads all that hold. */
export async function storeBudgets({ database, publish, budgets, config }: Service): Promise<void> {
  if (config.budgets !== undefined) publish(await syncBudgets(database, config.budgets.map(toRow)));
  await budgets.read();
}

function toRow({ limitUsd, ...settings }: NonNullable<Config['budgets']>[number]): BudgetSettings & { id: string } {
  return { ...settings, id: newId<string>(), limitMicros: toMicros(limitUsd) };
}
