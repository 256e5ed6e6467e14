// The services that the routes of one API share: keys, waits, streams, metrics, shared reads. Made with the server, closed with it.
import { shareFor } from '../coalesce/share-for.ts';
import { shareNext } from '../coalesce/share-next.ts';
import { budgetName } from '../core/budget/budget.ts';
import type { Budget } from '../store/budgets/budgets.ts';
import { readEvents } from '../store/views/events.ts';
import { viewSettlements } from '../store/views/settlements.ts';
import { readScrapeFigures } from '../store/views/scrape-figures.ts';
import { viewStats } from '../store/views/stats.ts';
import { listWorkers } from '../store/views/workers.ts';
import { KEY_PREFIX, noteUse } from '../service/manage-keys.ts';
import { readValidApiKeys, readWebSessions } from '../store/views/keys.ts';
import { Admission } from './admission.ts';
import { createAttempts } from './attempts.ts';
import type { ApiContext } from './context.ts';
import { EventStreams } from './event-streams.ts';
import { EventTail } from './event-tail.ts';
import { KeyRing } from './key-ring.ts';
import { createMetrics } from './metrics.ts';
import { FIGURES_MS_MAX, readFigures, readTroubles, withMarks } from './read-overview.ts';
import { createReadinessCheck } from './readiness.ts';
import { SettlementWaiter } from './settlement-waiter.ts';

/** The processes that an open page shows, which is also the default of their list. */
export const WORKERS_SHOWN = 50;

/** Ordinary requests in flight in one process. */
const REQUESTS_MAX = 4096;
const BODY_BYTES_MAX = 256 * 1024 * 1024;

/** The cap of a batch is no budget of the metrics: there would be a series for each batch. */
function usedBudgets(budgets: readonly Budget[]): { name: string; usedRatio: number }[] {
  return budgets
    .filter(({ origin }) => origin !== 'batch')
    .map((budget) => ({
      name: budgetName(budget),
      usedRatio: budget.limitMicros === 0 ? 1 : (budget.spentMicros + budget.reservedMicros) / budget.limitMicros,
    }));
}

export type ApiServices = ReturnType<typeof createServices>;

/** `openApi` returns the document of the routes. */
export function createServices(context: ApiContext, openApi: () => object) {
  const { config, views, reads, wake, outages } = context;
  const waiter = new SettlementWaiter({
    readSettled: (ids) => viewSettlements(views, ids),
    wake,
    outages,
    waitingMax: config.limits.waitingRequests,
  });
  const tail = new EventTail({ read: (page) => readEvents(views, {}, page), wake, outages });
  const streams = new EventStreams(config.limits.eventStreams);
  const monotonic = (): number => context.clock.monotonicMs();
  const admission = new Admission({
    requestsMax: REQUESTS_MAX,
    bodyBytesMax: BODY_BYTES_MAX,
    unknownBodyBytes: config.limits.bodyBytes,
  });
  const checkReadiness = createReadinessCheck(context);
  const readReadiness = shareNext(checkReadiness);
  const troubles = shareFor(FIGURES_MS_MAX, () => readTroubles(context, readReadiness()), monotonic);
  return {
    keys: createKeyRing(context),
    attempts: createAttempts(),
    admission,
    waiter,
    tail,
    streams,
    metrics: createMetrics(context.metrics, {
      budgets: () => usedBudgets(context.service.budgets.all),
      requestsInside: () => admission.size,
      eventStreams: () => streams.size,
      waitingRequests: () => waiter.size,
    }),
    /** It needs no key, so simultaneous requests share one check. */
    readReadiness,
    openApi,
    /** The figures of the overview, at most a second old. */
    readOverview: shareFor(FIGURES_MS_MAX, () => readFigures(context), monotonic),
    /** What needs a person, at most a second old, with what operators have decided about it until now. */
    readAttention: async () => withMarks(context, await troubles()),
    readStats: shareNext(() => viewStats(reads)),
    /** Further queries of a scrape. */
    readScrapeFigures: shareNext(() => readScrapeFigures(reads)),
    /** For pages of the dashboard, of which many may be open: at most a second old. */
    pages: {
      readReadiness: shareFor(FIGURES_MS_MAX, checkReadiness, monotonic),
      readStats: shareFor(FIGURES_MS_MAX, () => viewStats(reads), monotonic),
      /** The first page of processes, of `WORKERS_SHOWN`. */
      readWorkers: shareFor(FIGURES_MS_MAX, () => listWorkers(views, { limit: WORKERS_SHOWN, after: null }), monotonic),
    },
    close() {
      waiter.close();
      streams.close();
    },
  };
}

function createKeyRing({ config, live, adminKey, views, service }: ApiContext): KeyRing {
  const fixedKeys = () => [
    ...config.api.keys.map(({ name, key, role = 'operator' }) => ({ name: `key:${name}`, key, role })),
    { name: 'admin', role: 'admin' as const, key: config.runtime.apiKey ?? adminKey },
  ];
  const ring = new KeyRing({
    fixed: fixedKeys(),
    readKeys: () => readValidApiKeys(views),
    readSessions: (ids) => readWebSessions(views, ids),
    onUse: (id) => noteUse(service, id),
    prefix: KEY_PREFIX,
  });
  live.follow({ apply: () => ring.replaceFixed(fixedKeys()) });
  return ring;
}
