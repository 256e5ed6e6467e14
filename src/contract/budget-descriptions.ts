// Descriptions of the fields of budgets, for the OpenAPI document; see field-descriptions.ts.

/** By field. */
export const BUDGET_DESCRIPTIONS: Readonly<Record<string, string>> = {
  budgetId: 'The id of the budget; the cost cap of a batch has the id of the batch',
  scope: 'What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>`',
  per: 'The length of a window',
  zone: 'The time zone in which hours, days and months begin',
  limitUsd: 'The limit of a window in dollars',
  limitMicros: 'The same limit in whole micro-dollars',
  warnPercent: 'The share of the limit, in percent, at which `budget.warned` is sent',
  action: 'What happens to a turn whose next call exceeds the budget: `pause` parks the turn, `fail` ends it',
  strict: 'True: each call reserves the most that it can cost',
  spentUsd: 'What the calls of the current window have cost',
  spentMicros: 'The same in whole micro-dollars',
  reservedMicros: 'What is reserved for calls in flight, in whole micro-dollars',
  isReached: 'Whether a call has been refused in the current window since the last change of the budget',
  'Budget.startsAt': 'When the current window began',
  endsAt: 'When the current window ends; null: it has no end',
  'Budget.origin': 'Whether the budget was created by the configuration, a request or a batch',
};
