// The metrics of the service as a whole, as a scrape reads them from the database: batches, submissions, deliveries, processes, troubles, and
// the calls without a price. Every process with an API gives the same figures.
import { Counter, Gauge, type Registry } from 'prom-client';
import { HEALTH_KINDS } from '../core/service-health.ts';
import type { ScrapeFigures } from '../store/views/scrape-figures.ts';

/** The most models and applications with a label of their own; the rest is `other`. */
const LABEL_VALUES_MAX = 100;

/** Newer transactions are not shown, in milliseconds. */
const TRANSACTION_SHOWN_MS = 1_000;

const BY_STATUS = {
  batches: ['batches', 'Batches that have not ended, by status'],
  batchItems: ['batch_items', 'Items of batches that have not ended, by status'],
  providerBatches: ['provider_batches', 'Submissions to the provider whose results have not been read, by status'],
} as const;

const AGES = {
  batchOldestMs: ['batch_oldest_seconds', 'Age of the oldest batch that has not ended; 0 if there is none'],
  providerBatchOldestMs: [
    'provider_batch_oldest_seconds',
    'Age of the oldest submission whose results have not been read; 0 if there is none',
  ],
  outboxOldestMs: [
    'outbox_oldest_seconds',
    'Age of the oldest delivery that is neither sent nor abandoned; 0 if there is none',
  ],
  cronOverdueMs: ['cron_overdue_seconds', 'Delay of the most overdue cron; 0 if no cron is overdue'],
  heldBackMs: [
    'events_held_back_seconds',
    'Age of the oldest event that readers do not see yet because of an open transaction',
  ],
} as const;

export class ScrapeGauges {
  readonly #unpriced: Counter<'model'>;
  readonly #byStatus: Record<keyof typeof BY_STATUS, Gauge<'status'>>;
  readonly #ages: Record<keyof typeof AGES, Gauge>;
  readonly #workers: Gauge<'role'>;
  readonly #troubles: Gauge<'kind'>;
  readonly #parked: Gauge<'code'>;
  readonly #oldestWaits: Gauge<'lane' | 'code'>;
  readonly #cacheHits: Gauge<'tier'>;
  readonly #deleted: Counter<'kind'>;
  readonly #reach: Gauge<'kind'>;
  readonly #transaction: Gauge<'database' | 'application'>;
  readonly #applications = new Set<string>();

  constructor(registry: Registry) {
    const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> =>
      new Gauge({ name: `holdfast_${name}`, help, labelNames, registers: [registry] });
    const all = <Key extends string, Label extends string>(
      named: Record<Key, readonly [string, string]>,
      labels: readonly Label[],
    ): Record<Key, Gauge<Label>> => {
      const made = Object.entries<readonly [string, string]>(named).map(([key, [name, help]]) => [
        key,
        gauge(name, help, labels),
      ]);
      // The keys are those of `named`.
      return Object.fromEntries(made) as Record<Key, Gauge<Label>>;
    };
    this.#unpriced = new Counter({
      name: 'holdfast_model_calls_unpriced_total',
      help: 'Model calls with an unknown cost',
      labelNames: ['model'] as const,
      registers: [registry],
    });
    this.#byStatus = all(BY_STATUS, ['status']);
    this.#ages = all(AGES, []);
    this.#workers = gauge('workers', 'Running processes, by role', ['role']);
    this.#troubles = gauge(
      'troubles',
      'Problems that keep the service from working, by kind; 0 if the problem does not exist',
      ['kind'],
    );
    this.#parked = gauge('parked_turns', 'Turns that are parked, by the reason', ['code']);
    this.#oldestWaits = gauge(
      'lane_oldest_wait_seconds',
      'Age of the oldest waiting message by lane and reason: the oldest that no turn has claimed, and that of the parked turns of each reason',
      ['lane', 'code'],
    );
    this.#cacheHits = gauge(
      'cache_hit_ratio',
      "Share of prompt tokens of the last hour that were read from the provider's cache",
      ['tier'],
    );
    this.#deleted = new Counter({
      name: 'holdfast_retention_deleted_total',
      help: 'Deleted old rows, by kind',
      labelNames: ['kind'] as const,
      registers: [registry],
    });
    this.#reach = gauge('retention_reach_seconds', 'Age beyond which rows have been deleted, by kind', ['kind']);
    this.#transaction = gauge('oldest_transaction_seconds', 'Age of the open transaction that holds back live events', [
      'database',
      'application',
    ]);
  }

  /** Null: the database did not answer, and there are none. */
  set(figures: ScrapeFigures | null): void {
    this.#unpriced.reset();
    this.#deleted.reset();
    const labelled = [
      this.#workers,
      this.#troubles,
      this.#parked,
      this.#oldestWaits,
      this.#cacheHits,
      this.#reach,
      this.#transaction,
    ];
    for (const gauge of [...Object.values(this.#byStatus), ...labelled]) gauge.reset();
    for (const gauge of Object.values(this.#ages)) gauge.remove();
    if (figures === null) return;
    this.#setUnpriced(figures);
    for (const noun of ['batches', 'batchItems', 'providerBatches'] as const) {
      for (const [status, count] of Object.entries(figures[noun])) this.#byStatus[noun].set({ status }, count);
    }
    for (const noun of Object.keys(AGES) as (keyof typeof AGES)[]) this.#ages[noun].set((figures[noun] ?? 0) / 1000);
    for (const [role, count] of Object.entries(figures.workers)) this.#workers.set({ role }, count);
    for (const kind of HEALTH_KINDS) this.#troubles.set({ kind }, figures.troubles[kind] ?? 0);
    for (const [code, count] of Object.entries(figures.parkedTurns)) this.#parked.set({ code }, count);
    // A message behind a parked turn has its reason.
    for (const { lane, code, ageMs } of figures.oldestWaits.toSorted((one, other) => one.ageMs - other.ageMs))
      this.#oldestWaits.set({ lane, code }, ageMs / 1000);
    for (const [tier, ratio] of Object.entries(figures.cacheHitRatio)) this.#cacheHits.set({ tier }, ratio);
    for (const [kind, { deleted, reachMs }] of Object.entries(figures.retention)) {
      this.#deleted.inc({ kind }, deleted);
      if (reachMs !== null) this.#reach.set({ kind }, reachMs / 1000);
    }
    this.#setTransaction(figures);
  }

  #setUnpriced({ unpricedCalls }: ScrapeFigures): void {
    const models = Object.entries(unpricedCalls).toSorted(([one], [other]) => one.localeCompare(other));
    for (const [at, [model, count]] of models.entries())
      this.#unpriced.inc({ model: at < LABEL_VALUES_MAX ? model : 'other' }, count);
  }

  #setTransaction({ oldestTransaction, heldBackMs }: ScrapeFigures): void {
    if (oldestTransaction === null) return;
    const { database, application } = oldestTransaction;
    const ageMs = oldestTransaction.ageMs ?? heldBackMs;
    // Every statement that writes is such a transaction.
    if (ageMs < TRANSACTION_SHOWN_MS) return;
    if (this.#applications.size < LABEL_VALUES_MAX) this.#applications.add(application);
    const label = this.#applications.has(application) ? application : 'other';
    this.#transaction.set({ database, application: label }, ageMs / 1000);
  }
}
