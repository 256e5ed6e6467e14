// Changes of budgets while the service runs. Each change applies in this process immediately, and in all others within a second.
import type { BudgetSettings } from './rules/budget.ts';
import { newId } from '../../ids.ts';
import { createBudget, patchBudget, removeBudget, type BudgetChange, type BudgetPatch } from './store/budgets.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/** Makes a budget and returns its id. Rejects with a violated primary key when another request has stored the key; see `isKeyTaken`. */
export async function addBudget(
  { database, budgets }: Service,
  settings: BudgetSettings,
  request: { createdBy: string; idempotency: KeyedRequest | null },
): Promise<string> {
  const id = newId<string>();
  await createBudget(database, { ...settings, id }, request);
  await budgets.read();
  return id;
}

/** Changes a budget; the turns that wait for it ask again. */
export async function editBudget(
  { database, budgets, publish }: Service,
  id: string,
  patch: BudgetPatch,
): Promise<BudgetChange> {
  const { result } = publish(await patchBudget(database, id, patch));
  await budgets.read();
  return result;
}

/** Removes a budget; the turns that wait for it resume. */
export async function dropBudget({ database, budgets, publish }: Service, id: string): Promise<BudgetChange> {
  const { result } = publish(await removeBudget(database, id));
  await budgets.read();
  return result;
}
