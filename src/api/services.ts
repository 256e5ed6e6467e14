// The services that the routes of one API share: keys, waits, streams, metrics, shared reads. Made with the server, closed with it.
import { shareFor } from '../coalesce/share-for.ts';
import { shareNext } from '../coalesce/share-next.ts';
import { budgetName } from '../features/budgets/rules/budget.ts';
import type { Budget } from '../features/budgets/store/budgets.ts';
import { readEvents } from '../kernel/views/events.ts';
import { viewSettlements } from '../kernel/views/settlements.ts';
import { readScrapeFigures } from '../features/overview/views/scrape-figures.ts';
import { viewStats, pingDatabase } from '../features/overview/views/stats.ts';
import { listWorkers } from '../kernel/views/workers.ts';
import { KEY_PREFIX, noteUse } from '../features/keys/manage-keys.ts';
import { readValidApiKeys, readWebSessions } from '../features/keys/views.ts';
import { createAttempts } from './attempts.ts';
import type { ApiContext, Dependency } from './context.ts';
import { EventStreams } from './event-streams.ts';
import { EventTail } from './event-tail.ts';
import { KeyRing } from './key-ring.ts';
import { createMetrics } from './metrics.ts';
import { FIGURES_MS_MAX, readFigures, readTroubles, withMarks } from '../features/overview/read-overview.ts';
import { SettlementWaiter } from './settlement-waiter.ts';
import type { FastifyRequest } from 'fastify';
import { overloaded } from './problem.ts';
import type { Readiness } from '../contract/answers.ts';
import type { HealthKind } from '../features/overview/rules/service-health.ts';
import { withDeadline } from '../deadline.ts';
import { readServiceHealth } from '../features/overview/views/service-health.ts';

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

// Admission: how many requests, and how many bytes of bodies, may be in flight. A request over the limit is refused before
// it is read, with a Retry-After time (G27, G28). Streams and waits do not count while they only wait.

interface AdmissionBounds {
  requestsMax: number;
  bodyBytesMax: number;
  /** The size that is assumed for a body without a length. */
  unknownBodyBytes: number;
}

class Admission {
  readonly #bounds: AdmissionBounds;
  readonly #inside = new Map<FastifyRequest, number>();
  #bodyBytes = 0;

  constructor(bounds: AdmissionBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#inside.size;
  }

  /** Lets a request in or throws 503. */
  enter(request: FastifyRequest): void {
    const bytes = this.#countBytes(request);
    if (this.#inside.size >= this.#bounds.requestsMax || this.#bodyBytes + bytes > this.#bounds.bodyBytesMax) {
      throw overloaded('Too many requests are in flight. This one was not processed; send it again later.');
    }
    this.#inside.set(request, bytes);
    this.#bodyBytes += bytes;
  }

  /** Lets it out; false when it was out already. */
  leave(request: FastifyRequest): boolean {
    const bytes = this.#inside.get(request);
    if (bytes === undefined) return false;
    this.#inside.delete(request);
    this.#bodyBytes -= bytes;
    return true;
  }

  #countBytes(request: FastifyRequest): number {
    const length = request.headers['content-length'];
    if (length !== undefined) return Math.min(Number(length) || 0, this.#bounds.unknownBodyBytes);
    return request.headers['transfer-encoding'] === undefined ? 0 : this.#bounds.unknownBodyBytes;
  }
}

// Readiness: all dependencies are checked in parallel, for a bounded time, and the answer says how long each took. A fault is
// named by its code only, because a message may contain an address or a password (G31).

const CHECK_MS_MAX = 2_000;
const late = (): Error => new DOMException(`no answer within ${CHECK_MS_MAX} ms`, 'TimeoutError');

/** Makes the check of readiness: it asks the database and all other dependencies, and never rejects. */
function createReadinessCheck(context: ApiContext): () => Promise<Readiness> {
  const { outages, views } = context;
  const database: Dependency = { name: 'database', outages, check: () => pingDatabase(views) };
  const asked = [database, ...context.dependencies].map((dependency) => ({ dependency, check: toCheck(dependency) }));
  return async () => {
    const [troubles, dependencies] = await Promise.all([
      readTroubleKinds(context),
      Promise.all(asked.map(({ check }) => check())),
    ]);
    const missing = asked.filter((_, index) => dependencies[index]?.status === 'failed');
    return {
      status: judgeStatus(
        missing.map(({ dependency }) => dependency),
        troubles,
      ),
      dependencies,
      troubles,
      model: context.modelInfo,
      version: context.installation.holdfast,
      environment: context.config.api.environment ?? null,
    };
  };
}

/** None when the database does not answer in time: that is said by its own check. */
async function readTroubleKinds({ reads }: ApiContext): Promise<HealthKind[]> {
  const facts = await withDeadline({ ms: CHECK_MS_MAX, late }, () => readServiceHealth(reads)).catch(() => []);
  return [...new Set(facts.map(({ kind }) => kind))];
}

function judgeStatus(missing: Dependency[], troubles: HealthKind[]): Readiness['status'] {
  if (missing.length === 0) return troubles.length === 0 ? 'ready' : 'degraded';
  return missing.every(({ isOptional }) => isOptional === true) ? 'degraded' : 'unavailable';
}

function toCheck(dependency: Dependency): () => Promise<Readiness['dependencies'][number]> {
  const { name } = dependency;
  let firstFailedAt: Date | null = null;
  return async () => {
    const startedAt = performance.now();
    const checked = withDeadline({ ms: CHECK_MS_MAX, late }, async (signal) => await dependency.check(signal));
    const error = await checked.then(() => null, errorName);
    const durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
    firstFailedAt = error === null ? null : (firstFailedAt ?? new Date());
    if (error === null) return { name, status: 'ok', durationMs, error, failedSince: null };
    const since = dependency.outages?.since ?? firstFailedAt;
    return { name, status: 'failed', durationMs, error, failedSince: since?.toISOString() ?? null };
  };
}

function errorName(error: unknown): string {
  const codes = [error, (error as { cause?: unknown } | null)?.cause].map(
    (one) => (one as { code?: unknown } | null)?.code,
  );
  const code = codes.find((one) => typeof one === 'string');
  if (typeof code === 'string') return code;
  return error instanceof Error ? error.name : 'failed';
}
