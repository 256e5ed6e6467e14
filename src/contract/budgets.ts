// Budgets on the wire.
import { z } from 'zod';
import { budgetFields } from '../config/schema-service.ts';
import { BUDGET_ORIGINS } from '../features/budgets/rules/budget.ts';
import { simulated } from './costs.ts';
import { text, flag, uuid, iso, wholeList } from './fields.ts';

const { per, limitUsd, warnPercent, action, strict } = budgetFields;

/** The body of `POST /v1/budgets`. */
export const budgetRequest = z.strictObject(budgetFields);

/** The body of `PATCH /v1/budgets/{id}`; omitted fields are unchanged. */
export const budgetPatch = z.strictObject({
  limitUsd: limitUsd.exactOptional(),
  warnPercent: warnPercent.unwrap().exactOptional(),
  action: action.unwrap().exactOptional(),
  strict: strict.unwrap().exactOptional(),
});

export const budget = z.strictObject({
  id: uuid.describe('The id of the budget; the cost cap of a batch has the id of the batch'),
  scope: text.describe('What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>`'),
  per,
  zone: text.describe('The time zone in which hours, days and months begin'),
  limitUsd: z.number().describe('The limit of a window in US dollars'),
  warnPercent: z.int().describe('The percentage of the limit at which `budget.warned` is sent'),
  action: action.unwrap(),
  strict: strict.unwrap(),
  spentUsd: z.number().describe('What the calls of the current window have cost, in US dollars'),
  reservedUsd: z.number().describe('The amount reserved for calls in flight, in US dollars'),
  isReached: flag.describe('Whether a call has been refused in the current window since the last change of the budget'),
  startsAt: iso.describe('When the current window began'),
  endsAt: iso.nullable().describe('When the current window ends; null: it has no end'),
  origin: z.enum(BUDGET_ORIGINS).describe('Whether the configuration, a request or a batch created it'),
  simulated,
});
export type BudgetView = z.output<typeof budget>;

export const budgetList = wholeList(budget, 'The budgets, with those of the configuration and of batches');
