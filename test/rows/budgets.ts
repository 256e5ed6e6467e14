import { table } from './table.ts';

export const {
  change: changeBudgets,
  add: addBudgets,
  remove: removeBudgets,
} = table('budgets', 'id', {
  text: 'id origin scope per zone action',
  int: 'limitMicros warnPercent',
  bool: 'isStrict',
  'text?': 'createdBy',
  time: 'createdAt',
  'time?': 'changedAt removedAt',
});

export const { read: readBudgetWindows, change: changeBudgetWindows } = table(
  'budget_windows',
  'budget_id, starts_at',
  {
    text: 'budgetId',
    time: 'startsAt',
    'time?': 'endsAt',
    int: 'spentMicros reservedMicros',
  },
);

export const { read: readCostReservations, add: addCostReservations } = table('cost_reservations', 'turn_id, call_no', {
  text: 'turnId budgetId sessionId',
  int: 'callNo epoch micros',
  time: 'startsAt',
});
