// Descriptions of the fields of budgets, for the OpenAPI document; see field-descriptions.ts.

/** By field. */
export const BUDGET_DESCRIPTIONS: Readonly<Record<string, string>> = {
  budgetId: 'The id of the budget; that of the batch, for its cost cap',
  scope: 'What it limits: `all`, `agent:<id>`, `session:<key pattern>`, `key:<name>`, or `batch:<id>`',
  per: 'How long a window is',
  zone: 'The time zone in which hours, days and months begin',
  limitUsd: 'The limit of a window in dollars',
  limitMicros: 'The same in whole micro-dollars',
  warnPercent: 'The part of the limit at which `budget.warned` is sent, in percent',
  action: 'What a turn does whose next call finds no room: `pause` parks it, `fail` ends it',
  strict: 'True: each call reserves the most that it can cost',
  spentUsd: 'What the calls of the present window have cost',
  spentMicros: 'What the calls of the window have cost, in whole micro-dollars',
  reservedMicros: 'What calls in flight have reserved, in whole micro-dollars',
  isReached: 'Whether a call was refused in the present window, since the budget was changed last',
  'Budget.startsAt': 'When the present window began; null: no call was made in it yet',
  endsAt: 'When the present window ends; null: it has no end, or no call was made in it yet',
  'Budget.origin': 'Whether it belongs to the configuration, to a request, or to a batch',
};
