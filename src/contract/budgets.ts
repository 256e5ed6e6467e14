// Budgets on the wire.
import { z } from 'zod';
import { budgetFields, limitUsd } from '../config/schema-budgets.ts';
import { BUDGET_ACTIONS, BUDGET_ORIGINS, BUDGET_PERIODS } from '../core/budget/budget.ts';

/** The body of `POST /v1/budgets`. */
export const budgetRequest = z.strictObject(budgetFields);

/** The body of `PATCH /v1/budgets/{id}`; omitted fields are unchanged. */
export const budgetPatch = z.strictObject({
  limitUsd: limitUsd.exactOptional(),
  warnPercent: z.int().min(1).max(100).exactOptional(),
  action: z.enum(BUDGET_ACTIONS).exactOptional(),
  strict: z.boolean().exactOptional(),
});

export const budget = z.strictObject({
  id: z.uuid(),
  scope: z.string(),
  per: z.enum(BUDGET_PERIODS),
  zone: z.string(),
  limitUsd: z.number(),
  warnPercent: z.int(),
  action: z.enum(BUDGET_ACTIONS),
  strict: z.boolean(),
  spentUsd: z.number(),
  reservedUsd: z.number(),
  isReached: z.boolean(),
  startsAt: z.iso.datetime(),
  endsAt: z.iso.datetime().nullable(),
  origin: z.enum(BUDGET_ORIGINS),
  simulated: z.boolean(),
});
export type BudgetView = z.output<typeof budget>;

export const budgetList = z.strictObject({ items: z.array(budget), nextCursor: z.null() });
