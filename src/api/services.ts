// The services that the routes of one API share: keys, waits, streams, metrics, shared reads. Made
// with the server, closed with it. Admission bounds what is in flight, and readiness checks what
// the API depends on.
import { shareFor, shareNext } from '../coalesce.ts';
import { EVERYTHING } from '../core/scope.ts';
import { readEvents } from '../kernel/views/events.ts';
import { viewSettlements } from '../kernel/views/turns.ts';
import { pingDatabase, READ_ONLY } from '../kernel/views/database.ts';
import { workers } from '../kernel/views/workers.ts';
import { createBuckets } from './attempts.ts';
import type { ApiContext, Dependency } from './context.ts';
import { EventStreams } from './sse.ts';
import { EventTail } from './event-tail.ts';
import { KeyRing, type KeyRingOptions } from './key-ring.ts';
import type { ApiPart, AddMetrics } from './part.ts';
import { RequestLimits } from './request-limits.ts';
import { SettlementWaiter } from './settlement-waiter.ts';
import type { FastifyRequest } from 'fastify';
import { overloaded } from './problem.ts';
import type { Readiness } from '../contract/answers.ts';
import { ADMIN, callerOfKey } from '../core/key-role.ts';
import { withDeadline } from '../clock.ts';
import { Registry } from 'prom-client';
import { addNodeMetrics, metricIn } from '../metrics.ts';

/** The processes that an open page shows, which is also the default of their list. */
export const WORKERS_SHOWN = 50;

/** How old figures are at most that several requests share, in milliseconds. */
export const SHOWN_MS_MAX = 1_000;

/** Ordinary requests in flight in one process. */
const REQUESTS_MAX = 4096;
const BODY_BYTES_MAX = 256 * 1024 * 1024;

export type ApiServices = ReturnType<typeof createServices>;

/** `openApi` returns the document of the routes; `parts` are those of the features. */
export function createServices(context: ApiContext, parts: readonly ApiPart[], openApi: () => object) {
  const { config, views, wake, outages, service } = context;
  const waiter = new SettlementWaiter({
    // There it is planned once for each connection; planning takes as long as running it.
    readSettled: (ids) => viewSettlements(service.database.hot, ids),
    wake,
    outages,
    waitingMax: config.limits.waitingRequests,
  });
  const tail = new EventTail({ read: (page) => readEvents(views, { scope: EVERYTHING }, page), wake, outages });
  const streams = new EventStreams(config.limits.eventStreams);
  const monotonic = (): number => context.clock.monotonicMs();
  const admission = new Admission({
    requestsMax: REQUESTS_MAX,
    bodyBytesMax: BODY_BYTES_MAX,
    unknownBodyBytes: config.limits.bodyBytes,
  });
  const checkReadiness = createReadinessCheck(
    context,
    parts.flatMap(({ readTroubles }) => readTroubles ?? []),
    parts.flatMap(({ readNotes }) => readNotes ?? []),
  );
  const readReadiness = shareNext(checkReadiness);
  return {
    keys: createKeyRing(context, {
      stored: parts.find(({ storedKeys }) => storedKeys !== undefined)?.storedKeys,
      readToken: parts.find(({ readToken }) => readToken !== undefined)?.readToken,
    }),
    limits: new RequestLimits(config, views),
    /** Wrong keys, by address. */
    attempts: createBuckets(),
    admission,
    waiter,
    tail,
    streams,
    metrics: createMetrics(
      context.metrics,
      {
        requestsInside: () => admission.size,
        eventStreams: () => streams.size,
        waitingRequests: () => waiter.size,
      },
      parts.flatMap(({ addMetrics }) => addMetrics ?? []),
    ),
    /** It needs no key, so simultaneous requests share one check. */
    readReadiness,
    openApi,
    /** For pages of the dashboard, of which many may be open: at most a second old. */
    pages: {
      readReadiness: shareFor(SHOWN_MS_MAX, checkReadiness, monotonic),
      /** The first page of processes, of `WORKERS_SHOWN`. */
      readWorkers: shareFor(
        SHOWN_MS_MAX,
        () => workers.list(views, {}, { limit: WORKERS_SHOWN, after: null }),
        monotonic,
      ),
    },
    close() {
      waiter.close();
      streams.close();
    },
  };
}

function createKeyRing(
  { config, live, adminKey }: ApiContext,
  made: Pick<KeyRingOptions, 'stored' | 'readToken'>,
): KeyRing {
  const fixedKeys = () => [
    ...config.api.keys.map(({ name, key, role = 'operator' }) => ({ name: callerOfKey(name), key, role })),
    { name: ADMIN, role: 'admin' as const, key: config.runtime.apiKey ?? adminKey },
  ];
  const ring = new KeyRing({ fixed: fixedKeys(), ...made });
  live.follow({ apply: () => ring.replaceFixed(fixedKeys()) });
  return ring;
}

// Admission: how many requests, and how many bytes of bodies, may be in flight. A request over the
// limit is refused before it is read, with a Retry-After time (G27, G28). Streams and waits do not
// count while they only wait.

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

// Readiness: all dependencies are checked in parallel, for a bounded time, and the answer says how
// long each took. A fault is named by its code only, because a message may contain an address or a
// password (G31).

const CHECK_MS_MAX = 2_000;
const late = (): Error => new DOMException(`no answer within ${CHECK_MS_MAX} ms`, 'TimeoutError');

/**
 * Makes the check of readiness: it asks the database and all other dependencies, and never rejects.
 */
function createReadinessCheck(
  context: ApiContext,
  readTroubles: readonly ReadTroubles[],
  readNotes: readonly ReadNotes[],
): () => Promise<Readiness> {
  const { outages, views } = context;
  const database: Dependency = { name: 'database', outages, check: () => pingDatabase(views) };
  const asked = [database, ...context.dependencies].map((dependency) => ({ dependency, check: toCheck(dependency) }));
  return async () => {
    const [found, notes, dependencies] = await Promise.all([
      Promise.all(readTroubles.map(readInTime)),
      Promise.all(readNotes.map(readInTime)),
      Promise.all(asked.map(({ check }) => check())),
    ]);
    const troubles = found.flat();
    const missing = asked.filter((_, index) => dependencies[index]?.status === 'failed');
    return {
      status: judgeStatus(
        missing.map(({ dependency }) => dependency),
        troubles,
      ),
      dependencies,
      troubles,
      notes: notes.flat(),
      model: context.modelInfo,
      version: context.installation.holdfast,
      environment: context.config.api.environment ?? null,
    };
  };
}

type ReadTroubles = NonNullable<ApiPart['readTroubles']>;

type ReadNotes = NonNullable<ApiPart['readNotes']>;

/** None when the database does not answer in time: that is said by its own check. */
function readInTime<Item>(read: () => Promise<Item[]>): Promise<Item[]> {
  return withDeadline({ ms: CHECK_MS_MAX, late }, read).catch(() => []);
}

function judgeStatus(missing: Dependency[], troubles: Readiness['troubles']): Readiness['status'] {
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

// What the API measures of itself and of the dependencies of its process. Features add metrics of
// their own.

export interface ApiMetrics {
  registry: Registry;
  /**
   * Counts an answered request; `route` is the path of the table, never the requested path. Null:
   * it only waited.
   */
  observeRequest(request: { method: string; route: string; status: number; durationMs: number | null }): void;
  /** Everything, as Prometheus reads it. */
  render(readiness: Promise<Readiness | null>): Promise<string>;
}

/** Makes the metrics of an API process, in the given registry or in a new one. */
export function createMetrics(
  shared: Registry | undefined,
  now: {
    requestsInside: () => number;
    eventStreams: () => number;
    waitingRequests: () => number;
  },
  added: readonly AddMetrics[],
): ApiMetrics {
  const registry = shared ?? new Registry();
  addNodeMetrics(registry);
  const requests = metricIn(registry, 'holdfast_http_requests_total');
  const durations = metricIn(registry, 'holdfast_http_request_duration_seconds');
  metricIn(registry, 'holdfast_http_requests_inside', (to) => to.set(now.requestsInside()));
  metricIn(registry, 'holdfast_event_streams', (to) => to.set(now.eventStreams()));
  metricIn(registry, 'holdfast_events_open_streams', (to) => to.set(now.eventStreams()));
  metricIn(registry, 'holdfast_waiting_requests', (to) => to.set(now.waitingRequests()));
  const dependencies = metricIn(registry, 'holdfast_dependency_up');
  const databaseUp = metricIn(registry, 'holdfast_database_up');
  const scrapes = added.flatMap((add) => add(registry) ?? []);
  return {
    registry,
    observeRequest({ method, route, status, durationMs }) {
      requests.inc({ method, route, status });
      if (durationMs !== null) durations.observe({ method, route }, durationMs / 1000);
    },
    async render(readiness) {
      const [found] = await Promise.all([readiness, ...scrapes.map((scrape) => scrape())]);
      dependencies.reset();
      databaseUp.set(0);
      for (const { name, status, error } of found?.dependencies ?? []) {
        dependencies.set({ dependency: name }, status === 'ok' ? 1 : 0);
        // A database that takes no writes answers.
        if (name === 'database') databaseUp.set(status === 'ok' || error === READ_ONLY ? 1 : 0);
      }
      return registry.metrics();
    },
  };
}
