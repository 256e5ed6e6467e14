import { table } from './table.ts';

export const { change: changeBudgets } = table('budgets', 'id', {
  id: 'text',
  origin: 'text',
  scope: 'text',
  per: 'text',
  zone: 'text',
  limitMicros: 'int',
  warnPercent: 'int',
  action: 'text',
  createdBy: 'text?',
  createdAt: 'time',
  changedAt: 'time?',
  removedAt: 'time?',
});

export const { read: readBudgetWindows } = table('budget_windows', 'budget_id, starts_at', {
  budgetId: 'text',
  startsAt: 'time',
  endsAt: 'time?',
  spentMicros: 'int',
  reservedMicros: 'int',
});

export const { read: readCostReservations } = table('cost_reservations', 'turn_id, call_no', {
  turnId: 'text',
  callNo: 'int',
  budgetId: 'text',
  startsAt: 'time',
  sessionId: 'text',
  epoch: 'int',
  micros: 'int',
});
