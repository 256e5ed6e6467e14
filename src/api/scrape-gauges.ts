// The metrics of model calls without a price, of batches and of submissions, as a scrape reads them from the database.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ScrapeFigures } from '../store/views/scrape-figures.ts';

/** The most models with a label of their own; the rest is `other`. */
const MODELS_MAX = 100;

export class ScrapeGauges {
  readonly #unpriced: Counter<'model'>;
  readonly #byStatus: Record<'batches' | 'batchItems' | 'providerBatches', Gauge<'status'>>;
  readonly #oldest: Record<'batchOldestMs' | 'providerBatchOldestMs', Gauge>;

  constructor(registry: Registry) {
    const registers = [registry];
    const byStatus = (name: string, help: string) =>
      new Gauge({ name: `holdfast_${name}`, help, labelNames: ['status'] as const, registers });
    const gauge = (name: string, help: string) => new Gauge({ name: `holdfast_${name}`, help, registers });
    this.#unpriced = new Counter({
      name: 'holdfast_model_calls_unpriced_total',
      help: 'Model calls whose cost is not known',
      labelNames: ['model'] as const,
      registers,
    });
    this.#byStatus = {
      batches: byStatus('batches', 'Batches that have not ended'),
      batchItems: byStatus('batch_items', 'Items of batches that have not ended'),
      providerBatches: byStatus('provider_batches', 'Submissions to the provider whose results were not read'),
    };
    this.#oldest = {
      batchOldestMs: gauge('batch_oldest_seconds', 'Age of the oldest batch that has not ended'),
      providerBatchOldestMs: gauge('provider_batch_oldest_seconds', 'Age of the oldest submission to the provider'),
    };
  }

  /** Null: the database did not answer, and there are none. */
  set(figures: ScrapeFigures | null): void {
    this.#unpriced.reset();
    for (const gauge of Object.values(this.#byStatus)) gauge.reset();
    for (const gauge of Object.values(this.#oldest)) gauge.remove();
    if (figures === null) return;
    const models = Object.entries(figures.unpricedCalls).toSorted(([one], [other]) => one.localeCompare(other));
    for (const [at, [model, count]] of models.entries())
      this.#unpriced.inc({ model: at < MODELS_MAX ? model : 'other' }, count);
    for (const noun of ['batches', 'batchItems', 'providerBatches'] as const) {
      for (const [status, count] of Object.entries(figures[noun])) this.#byStatus[noun].set({ status }, count);
    }
    for (const noun of ['batchOldestMs', 'providerBatchOldestMs'] as const)
      this.#oldest[noun].set((figures[noun] ?? 0) / 1000);
  }
}
