// What an API shows of the whole service: what keeps it from working, and the metrics that a scrape
// reads from the database, by two queries for all. They are absent when the database does not
// answer.
import { Counter, type Gauge, type Registry } from 'prom-client';
import { shareNext } from '../../coalesce.ts';
import { answerWithin } from '../../api/problem.ts';
import type { AddMetrics, CreateApiPart } from '../../api/part.ts';
import type { StatsView } from './contract.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { metricIn, SCRAPED_METRICS } from '../../metrics.ts';
import { HEALTH_KINDS, isTrouble, notesOf } from './rules/service-health.ts';
import { readScrapeFigures, type ScrapeFigures } from './views/scrape-figures.ts';
import { readServiceHealth } from './views/service-health.ts';
import { viewStats } from './views/stats.ts';

const SCRAPE_MS_MAX = 3_000;

/** The most models and applications with a label of their own; the rest is `other`. */
const LABEL_VALUES_MAX = 100;

/** Newer transactions are not shown, in milliseconds. */
const TRANSACTION_SHOWN_MS = 1_000;

const MCP_STATES = ['connected', 'lost'];

type Sample = readonly [value: number, labels?: Record<string, string>];
type ScrapedName = keyof typeof SCRAPED_METRICS;

export const createApiPart: CreateApiPart = ({ reads }) => {
  const readHealth = shareNext(() => readServiceHealth(reads));
  return {
    readTroubles: async () => [...new Set((await readHealth()).map(({ kind }) => kind).filter(isTrouble))],
    readNotes: async () => notesOf(await readHealth()),
    addMetrics: scrapedMetrics(reads),
  };
};

export function scrapedMetrics(reads: ViewDatabase): AddMetrics {
  const readStats = shareNext(() => viewStats(reads));
  const readFigures = shareNext(() => readScrapeFigures(reads));
  return (registry) => {
    const setScraped = createScraped(registry);
    return async () => {
      const [stats, figures] = await Promise.all([
        answerWithin(readStats(), SCRAPE_MS_MAX, '').catch(() => null),
        answerWithin(readFigures(), SCRAPE_MS_MAX, '').catch(() => null),
      ]);
      setScraped(stats, figures);
    };
  };
}

/**
 * Adds what a scrape reads from the database. Returns the function that replaces the values of the
 * scrape before; null: there are none.
 */
function createScraped(registry: Registry): (stats: StatsView | null, figures: ScrapeFigures | null) => void {
  const names = Object.keys(SCRAPED_METRICS) as ScrapedName[];
  const metrics = names.map((name) => [name, metricIn(registry, name) as Counter | Gauge] as const);
  const applications = new Set<string>();
  return (stats, figures) => {
    const samples: Partial<Record<ScrapedName, Sample[]>> = {
      ...(stats === null ? {} : samplesOfStats(stats)),
      ...(figures === null ? {} : samplesOfFigures(figures)),
      ...(figures === null ? {} : { holdfast_oldest_transaction_seconds: sampleOfTransaction(figures, applications) }),
    };
    for (const [name, metric] of metrics) {
      metric.reset();
      // Without labels it would be 0 otherwise.
      if (SCRAPED_METRICS[name].labels.length === 0) metric.remove();
      for (const [value, labels = {}] of samples[name] ?? []) {
        if (metric instanceof Counter) metric.inc(labels, value);
        else metric.set(labels, value);
      }
    }
  };
}

function samplesOfStats(stats: StatsView) {
  return {
    holdfast_sessions: [[stats.sessions]],
    holdfast_live_locks: [[stats.liveLocks]],
    holdfast_oldest_wait_seconds: [[(stats.oldestWaitMs ?? 0) / 1000]],
    holdfast_dead_letters_open: [[stats.deadLetters]],
    holdfast_system_events_waiting: [[stats.systemEventsWaiting]],
    holdfast_messages: samplesBy('status', stats.messages),
    holdfast_turns: samplesBy('status', stats.turns),
    holdfast_deliveries: samplesBy('status', stats.deliveries),
    holdfast_queue_depth: samplesBy('lane', stats.queueDepth),
  } satisfies Partial<Record<ScrapedName, Sample[]>>;
}

function samplesOfFigures(figures: ScrapeFigures) {
  const age = (ageMs: number | null): Sample[] => [[(ageMs ?? 0) / 1000]];
  const servers = Object.entries(figures.mcpServers);
  const retention = Object.entries(figures.retention);
  const unpriced = Object.entries(figures.unpricedCalls).toSorted(([one], [other]) => one.localeCompare(other));
  return {
    holdfast_model_calls_unpriced_total: unpriced.map(([model, count], at): Sample => [
      count,
      { model: at < LABEL_VALUES_MAX ? model : 'other' },
    ]),
    holdfast_batches: samplesBy('status', figures.batches),
    holdfast_batch_items: samplesBy('status', figures.batchItems),
    holdfast_provider_batches: samplesBy('status', figures.providerBatches),
    holdfast_batch_oldest_seconds: age(figures.batchOldestMs),
    holdfast_provider_batch_oldest_seconds: age(figures.providerBatchOldestMs),
    holdfast_outbox_oldest_seconds: age(figures.outboxOldestMs),
    holdfast_cron_overdue_seconds: age(figures.cronOverdueMs),
    holdfast_events_held_back_seconds: age(figures.heldBackMs),
    holdfast_search_lag_seconds: age(figures.searchLagMs),
    holdfast_workers: samplesBy('role', figures.workers),
    holdfast_troubles: HEALTH_KINDS.map((kind): Sample => [figures.troubles[kind] ?? 0, { kind }]),
    holdfast_mcp_servers: MCP_STATES.map((state): Sample => [
      servers.filter(([, found]) => found === state).length,
      { state },
    ]),
    holdfast_mcp_server_up: servers.map(([server, state]): Sample => [state === 'connected' ? 1 : 0, { server }]),
    holdfast_unknown_calls: [[figures.troubles['calls_unknown'] ?? 0]],
    holdfast_parked_turns: samplesBy('code', figures.parkedTurns),
    // A message that waits for a parked turn has the reason of that turn; the oldest of a lane and
    // a reason is set last.
    holdfast_lane_oldest_wait_seconds: figures.oldestWaits
      .toSorted((one, other) => one.ageMs - other.ageMs)
      .map(({ lane, code, ageMs }): Sample => [ageMs / 1000, { lane, code }]),
    holdfast_cache_hit_ratio: samplesBy('tier', figures.cacheHitRatio),
    holdfast_retention_deleted_total: retention.map(([kind, { deleted }]): Sample => [deleted, { kind }]),
    holdfast_retention_reach_seconds: retention.flatMap(([kind, { reachMs }]): Sample[] =>
      reachMs === null ? [] : [[reachMs / 1000, { kind }]],
    ),
  } satisfies Partial<Record<ScrapedName, Sample[]>>;
}

/** `applications`: those that have a label of their own. */
function sampleOfTransaction({ oldestTransaction, heldBackMs }: ScrapeFigures, applications: Set<string>): Sample[] {
  if (oldestTransaction === null) return [];
  const { database, application } = oldestTransaction;
  const ageMs = oldestTransaction.ageMs ?? heldBackMs;
  // Every statement that writes is such a transaction.
  if (ageMs < TRANSACTION_SHOWN_MS) return [];
  if (applications.size < LABEL_VALUES_MAX) applications.add(application);
  return [[ageMs / 1000, { database, application: applications.has(application) ? application : 'other' }]];
}

function samplesBy(label: string, values: Record<string, number>): Sample[] {
  return Object.entries(values).map(([name, value]) => [value, { [label]: name }]);
}
