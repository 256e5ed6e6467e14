// Changes of budgets while the service runs. Each change applies in this process immediately, and
// in all others within a second.
import type { BudgetSettings } from './rules/budget.ts';
import { newId } from '../../ids.ts';
import { createBudget, patchBudget, removeBudget, type BudgetChange, type BudgetPatch } from './store/budgets.ts';
import { budgetBookOf } from './rounds.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/**
 * Makes a budget and returns its id. Rejects with a violated primary key when another request has
 * stored the key; see `isKeyTaken`.
 */
export async function addBudget(
  service: Service,
  settings: BudgetSettings,
  request: { createdBy: string; idempotency: KeyedRequest | null },
): Promise<string> {
  const id = newId<string>();
  await createBudget(service.database, { ...settings, id }, request);
  await budgetBookOf(service).read();
  return id;
}

/** Changes a budget; the turns that wait for it ask again. */
export async function editBudget(service: Service, id: string, patch: BudgetPatch): Promise<BudgetChange> {
  const { result } = service.publish(await patchBudget(service.database, id, patch));
  await budgetBookOf(service).read();
  return result;
}

/** Removes a budget; the turns that wait for it resume. */
export async function dropBudget(service: Service, id: string): Promise<BudgetChange> {
  const { result } = service.publish(await removeBudget(service.database, id));
  await budgetBookOf(service).read();
  return result;
}
