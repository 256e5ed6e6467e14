// How much of each budget is used, as a metric.
import type { CreateApiPart } from '../../api/part.ts';
import { metricIn } from '../../metrics.ts';
import { budgetBookOf } from './rounds.ts';
import { budgetName } from './rules/budget.ts';

/** The cap of a batch is no budget of the metrics: there would be a series for each batch. */
export const createApiPart: CreateApiPart = ({ service }) => ({
  addMetrics(registry) {
    metricIn(registry, 'holdfast_budget_used_ratio', (to) => {
      for (const budget of budgetBookOf(service).all) {
        const { origin, limitMicros, spentMicros, reservedMicros } = budget;
        if (origin === 'batch') continue;
        to.set({ budget: budgetName(budget) }, limitMicros === 0 ? 1 : (spentMicros + reservedMicros) / limitMicros);
      }
    });
  },
});
