// Budgets: how much model calls may cost.
import { deleted } from '../../contract/answers.ts';
import { toDollars, toMicros } from '../../core/prices.ts';
import type { Budget } from './store/budgets.ts';
import { z } from 'zod';
import { addBudget, budgetBookOf, editBudget } from './rounds.ts';
import type { ApiContext } from '../../api/context.ts';
import { conflict, notFound } from '../../api/problem.ts';
import { defineEffect, defineRoute, defineRead, type Route } from '../../api/route.ts';
import { budget, budgetList, budgetPatch, budgetRequest, type BudgetView } from '../../contract/budgets.ts';

const FIXED =
  'The budget is part of the configuration, or is the cost cap of a batch: change `budgets` there, or `maxCostUsd` of the batch.';
const conflictDoc = { description: 'It belongs to the configuration or to a batch' };

const getBudgets = defineRead({
  operationId: 'listBudgets',
  belongs: 'service',
  path: '/v1/budgets',
  summary: 'The active budgets with the spent and reserved amounts of their current windows, oldest first',
  shows: { description: 'All budgets', schema: budgetList },
  async read(_request, { context }) {
    const items = (await budgetBookOf(context.service).read()).map((row) => toBudgetView(row, context.modelInfo));
    return { items, nextCursor: null };
  },
});

const postBudget = defineEffect({
  operationId: 'createBudget',
  belongs: 'service',
  path: '/v1/budgets',
  summary: 'Create a budget; it counts calls that start from now on',
  body: budgetRequest,
  answers: { 201: { description: 'The budget', schema: budget } },
  async perform({ body, principal, idempotency }, { context }) {
    const { limitUsd, ...settings } = body;
    const budgetSettings = { ...settings, limitMicros: toMicros(limitUsd) };
    const id = await addBudget(context.service, budgetSettings, { createdBy: principal.name, idempotency });
    return { id };
  },
  show: ({ id }, _request, { context }) => findBudget(context, id),
});

const patchBudget = defineRoute({
  operationId: 'updateBudget',
  belongs: 'service',
  method: 'PATCH',
  path: '/v1/budgets/{id}',
  summary: 'Change a budget; turns that wait for it are checked again',
  body: budgetPatch,
  answers: { 200: { description: 'The updated budget', schema: budget }, 409: conflictDoc },
  async handle({ params, body }, { context }) {
    const { limitUsd, ...rest } = body;
    const patch = { ...rest, ...(limitUsd === undefined ? {} : { limitMicros: toMicros(limitUsd) }) };
    await change(context, params.id, patch);
    return { status: 200, body: await findBudget(context, params.id) };
  },
});

const deleteBudget = defineRoute({
  operationId: 'deleteBudget',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/budgets/{id}',
  summary: 'Delete a budget; turns that wait for it resume',
  answers: { 200: { description: 'Removed', schema: deleted }, 409: conflictDoc },
  async handle({ params }, { context }) {
    await change(context, params.id, { isRemoved: true });
    return { status: 200, body: { deleted: true } };
  },
});

async function change({ service }: ApiContext, id: string, changes: Parameters<typeof editBudget>[2]): Promise<void> {
  const result = await editBudget(service, id, changes);
  if (result === 'unknown') throw notFound(`budget ${id}`);
  if (result === 'fixed') throw conflict(FIXED);
}

async function findBudget(context: ApiContext, id: string): Promise<z.output<typeof budget>> {
  const found = (await budgetBookOf(context.service).read()).find((row) => row.id === id);
  if (found === undefined) throw notFound(`budget ${id}`);
  return toBudgetView(found, context.modelInfo);
}

/** A budget as the API shows it. */
export function toBudgetView(
  { limitMicros, spentMicros, reservedMicros, ...row }: Budget,
  { isScripted }: { isScripted: boolean },
): BudgetView {
  const dollars = (micros: number): number => toDollars(micros) ?? 0;
  return {
    ...row,
    limitUsd: dollars(limitMicros),
    spentUsd: dollars(spentMicros),
    reservedUsd: dollars(reservedMicros),
    simulated: isScripted,
  };
}

export const routes: Route[] = [getBudgets, postBudget, patchBudget, deleteBudget];
