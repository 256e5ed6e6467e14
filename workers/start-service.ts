// Starts the service: any of the roles api, worker and scheduler in this process, on the database
// and queue that the environment names, or on its own. Everything that is started here is ended by
// `drain`, in the reverse order.
import { systemClock } from '../src/clock.ts';
import { agentOf, ensureApiKey, isAgent, type LiveConfig, type Setting } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import type { HeldPort } from '../src/network/hold-port.ts';
import type { WorkerIdentity } from '../src/kernel/processes/report-worker.ts';
import { FEATURES } from '../src/features.ts';
import type { ModelEndpoint, Process, ProcessPart, Role } from '../src/kernel/process-part.ts';
import { startRounds } from '../src/kernel/queue/start-rounds.ts';
import { createWake } from '../src/kernel/queue/rings.ts';
import type { OpenModel } from '../src/kernel/use-cases/service.ts';
import { openDataDir } from '../src/tools/open-workspace.ts';
import { createReconciler } from './create-reconciler.ts';
import { loadModules, openAskedTurns, type Modules } from './load-modules.ts';
import { measureProcess, type ProcessMeters } from './process-metrics.ts';
import type { MetricsServer } from './metrics-server.ts';
import type { Reconciler } from './reconciler.ts';
import type { AskedTurns } from './start-worker.ts';
import type { ProcessReporter } from './report-process.ts';
import { asWarning, readServiceFacts, formatLines, listenWarnings, type ServiceFacts } from './start-lines.ts';
import { prepareDatabase, prepareEndpoint, type Ender } from './own-servers.ts';

export interface ServiceOptions {
  live: LiveConfig;
  /** The options of the command, which the API shows with the settings. */
  flags: readonly Setting[];
  roles: readonly Role[];
  /** False: the database is used as it is. */
  migrate: boolean;
  logger: Logger;
  /** The address where the API, or without it the metrics, will listen. */
  heldPort: HeldPort;
}

export interface RunningService {
  /** Where the API listens; null without the api role. */
  url: string | null;
  /** The facts for the start lines. */
  lines: string[];
  /** The facts for the log. */
  facts: ServiceFacts;
  /** Resolves when a person has asked this process to drain. */
  drainRequested: Promise<void>;
  /** Accepts nothing new, releases running turns, and ends everything that was started. */
  drain(): Promise<void>;
}

/** The part of the grace that the lanes get; the rest is for closing. */
const LANES_SHARE = 0.8;

/**
 * Starts the parts that the roles need. Rejects with the first fault, after it has stopped the
 * parts that were started and deleted an embedded database that it has made.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const enders: Ender[] = [];
  try {
    return await start(options, enders);
  } catch (error) {
    await endAll(enders, { logger: options.logger, isFailed: true });
    throw error;
  }
}

async function start(options: ServiceOptions, enders: Ender[]): Promise<RunningService> {
  const { live, roles, logger } = options;
  const { config } = live;
  await openDataDir(config);
  // The database needs some time to start: the code is loaded meanwhile.
  const [databaseUrl, modules, modelEndpoint] = await Promise.all([
    prepareDatabase(config, logger, enders),
    loadModules(roles, { features: FEATURES, isTraced: config.runtime.traceEndpoint !== undefined }),
    prepareEndpoint(config, roles, enders),
  ]);
  const base = await openBase(options, { modules, databaseUrl, enders });
  const { meters } = base;
  const identity = modules.identityOf(roles);
  const working = await startWorking(options, { base, modules, identity, modelEndpoint, enders });
  const { parts, reporter } = working;
  startRunning(options, { modules, base, parts, enders });
  const facts = readServiceFacts(config, base.backend.kind, modelEndpoint.isScripted);
  const { version } = identity;
  const api = await startApi(options, { modules, base, facts, version, enders, ...working });
  await options.heldPort.release();
  const metrics = await startMetrics(meters, { base, version, reporter, enders });
  return {
    url: api?.url ?? null,
    lines: [
      ...listAddresses(api, metrics),
      // The canary has been on its way since the worker was started.
      ...formatLines(config, facts, await working.sandbox?.state()),
      ...base.warnings.map(asWarning),
      ...(api?.lines ?? []),
    ],
    facts,
    drainRequested: reporter.drainRequested,
    async drain() {
      reporter.startDrain();
      await endAll(enders, { logger, isFailed: false });
    },
  };
}

/** Starts what works, and what reports that it does. */
async function startWorking(
  options: ServiceOptions,
  parts: { base: Base; modules: Modules; identity: WorkerIdentity; modelEndpoint: ModelEndpoint; enders: Ender[] },
) {
  const { live, roles, logger } = options;
  const { base, modules, identity, modelEndpoint, enders } = parts;
  const { service, watch, backend, meters } = base;
  let reporter: ProcessReporter | undefined;
  // The row says that the process drains until everything else has ended.
  enders.push(async () => reporter?.stop());
  const metrics = meters?.registry ?? null;
  const turnOptions = { ...base, live, owner: identity.name, logger, clock: systemClock, modelEndpoint };
  const openTurns = openAskedTurns(turnOptions);
  const askedTurns = (): Promise<AskedTurns> => (worker === undefined ? openTurns() : Promise.resolve(worker));
  const openModel: OpenModel = async () => (await askedTurns()).model;
  const process = { roles, service, live, logger, identity, modelEndpoint, openModel, watch, metrics };
  const tracing = modules.openTracing?.(process);
  enders.push(async () => tracing?.stop());
  const opened = await openParts(modules, { ...process, tracing }, enders);
  // Messages of a process that only accepts are rung for by those that work.
  const isReconciling = roles.includes('worker') || roles.includes('scheduler');
  const reconciler = createReconciler(options, {
    ...base,
    modules,
    parts: opened,
    onRepeated: meters?.onRepeated,
    worker: () => worker,
  });
  enders.push(() => reconciler.stop());
  const deliver = opened.find((part) => part.deliver !== undefined)?.deliver;
  const worker = await modules.startWorker?.({ ...turnOptions, deliver, tracing, meters: meters?.work ?? {} });
  if (worker !== undefined) enders.push(() => worker.drain(live.config.shutdown.graceMs * LANES_SHARE));
  reporter = await modules.startReports({
    database: service.database,
    identity,
    lanes: () => worker?.lanes() ?? {},
    isQueueAway: () => backend.outages.isOngoing,
    isReconcilerStalled: () => isReconciling && reconciler.isStalled,
    sandbox: () => worker?.sandbox?.known ?? null,
    onLost: tracing && ((names) => tracing.processesLost(names)),
  });
  if (isReconciling) reconciler.start();
  return {
    reconciler: isReconciling ? reconciler : null,
    parts: opened,
    reporter,
    askedTurns,
    sandbox: worker?.sandbox,
  };
}

/** Opens what the features run in this process. */
async function openParts({ parts }: Modules, process: Process, enders: Ender[]): Promise<ProcessPart[]> {
  const opened: ProcessPart[] = [];
  for (const open of parts) {
    const part = await open(process);
    opened.push(part);
    enders.push(async () => part.stop?.());
  }
  return opened;
}

/** Starts what is repeated, and the role of the scheduler, if it is one of this process. */
function startRunning(
  { live }: ServiceOptions,
  { modules, base, parts, enders }: { modules: Modules; base: Base; parts: ProcessPart[]; enders: Ender[] },
): void {
  const { service, watch } = base;
  const rounds = parts.flatMap((part) => part.rounds ?? []);
  const ends = rounds.map((list) => startRounds({ ...list, database: service.database, watch }));
  enders.push(() => Promise.all(ends.map((end) => end())));
  if (modules.Scheduler === null) return;
  const schedules = parts.flatMap(({ schedule }) => schedule ?? []);
  const scheduler = new modules.Scheduler({ service, watch, schedules });
  enders.push(() => scheduler.stop());
  scheduler.start();
  live.follow({ apply: () => scheduler.syncAgain() });
}

type Base = Awaited<ReturnType<typeof openBase>>;

/**
 * Opens what every role needs: the database with its layout, the queue, and the use cases on both.
 */
async function openBase(
  { live: { config }, roles, migrate, logger }: ServiceOptions,
  { modules, databaseUrl, enders }: { modules: Modules; databaseUrl: string; enders: Ender[] },
) {
  const { warnings } = await modules.inspectDatabase(databaseUrl);
  for (const warning of warnings) logger.warn({ dependency: 'database' }, warning);
  const { ahead } = await (migrate ? modules.migrate(databaseUrl) : modules.requireLayout(databaseUrl));
  if (ahead.length > 0) logger.info({ migrations: ahead }, 'Database was migrated by a newer version');
  const role = roles.length === 1 ? (roles[0] ?? 'service') : 'service';
  const { redisUrl, host, metricsPort: port } = config.runtime;
  const meters = measureProcess({ roles, host, port });
  const database = modules.openDatabase({ url: databaseUrl, role, logger, onStatement: meters?.onStatement });
  enders.push(() => database.close());
  const backend = await modules.openQueueBackend({ databaseUrl, redisUrl, logger, isMigrating: migrate });
  enders.push(() => backend.close());
  const doorbell = modules.createDoorbell({ queue: backend.queue, outages: backend.outages });
  enders.push(() => doorbell.close());
  const wake = createWake();
  const { effects, chat } = modules;
  const service = modules.createService({ config, database, effects, chat, wake, doorbell });
  return { service, wake, watch: modules.createWorkWatch(database), backend, meters, warnings };
}

interface ApiParts {
  modules: Modules;
  base: Base;
  facts: ServiceFacts;
  /** The version of Holdfast. */
  version: string;
  enders: Ender[];
  /** Null: this process has none that runs. */
  reconciler: Reconciler | null;
  askedTurns: () => Promise<AskedTurns>;
}

/** Starts the API, and returns where it listens and what to say of it; null without the role. */
async function startApi(
  { live, flags, logger, heldPort }: ServiceOptions,
  parts: ApiParts,
): Promise<{ url: string; lines: string[] } | null> {
  const { modules, base, facts, version, enders, reconciler, askedTurns } = parts;
  const { service, wake, backend, meters } = base;
  if (modules.createApi === null || modules.createApiContext === null) return null;
  const { config } = live;
  const apiKey = await ensureApiKey(config);
  const api = modules.createApi(
    modules.createApiContext({
      logger,
      clock: systemClock,
      service,
      wake,
      live,
      flags,
      installation: { holdfast: version, queue: facts.queue, database: facts.database },
      adminKey: apiKey.key,
      ...(meters === null ? {} : { metrics: meters.registry }),
      modelInfo: { provider: 'anthropic', name: facts.model, isScripted: facts.isScripted },
      dependencies: [
        { name: 'layout', check: await modules.createLayoutCheck(service.database.views) },
        { name: 'storage', check: async () => service.database.checkStorage() },
        { name: 'queue', isOptional: true, outages: backend.outages, check: () => backend.ping() },
        ...(reconciler === null ? [] : [{ name: 'reconciler', check: () => reconciler.check() }]),
      ],
      deriveRequest: (turnId, callNo) =>
        modules.deriveRequest(service.database, {
          turnId,
          callNo,
          defaultThinking: (agentId) => (isAgent(config, agentId) ? agentOf(config, agentId).thinking : 'off'),
          writeBody: async (request, sessionKey) => (await askedTurns()).model.writeBody(request, sessionKey),
        }),
      measurePrompt: async (item) => (await askedTurns()).measurePrompt(item),
      openModel: async () => (await askedTurns()).model,
    }),
    modules.door,
  );
  enders.push(() => api.close());
  await heldPort.release();
  const url = await api.listen({ host: config.runtime.host, port: config.runtime.port });
  const warnings = listenWarnings(config);
  for (const warning of warnings) logger.warn({ host: config.runtime.host }, warning);
  return { url, lines: [`api key    ${apiKey.path ?? 'HOLDFAST_API_KEY'}`, ...warnings.map(asWarning)] };
}

function listAddresses(api: { url: string } | null, metrics: MetricsServer | null): string[] {
  if (api !== null) return [`holdfast   ${api.url}`];
  return metrics === null ? [] : [`metrics    ${metrics.url}`];
}

/**
 * Adds the metrics of the process itself, and serves them if there is no API; null: there is one,
 * or nothing is measured.
 */
async function startMetrics(
  meters: ProcessMeters,
  parts: { base: Base; version: string; reporter: ProcessReporter; enders: Ender[] },
): Promise<MetricsServer | null> {
  const { base, version, reporter, enders } = parts;
  const { hot, views, reads, outages } = base.service.database;
  const facts = {
    version,
    lanes: () => reporter.lanes(),
    reportAgeMs: () => reporter.ageMs(),
    waiting: () => ({ hot: hot.waitingCount, views: views.waitingCount, reads: reads.waitingCount }),
    faults: () => ({ database: outages.faults, queue: base.backend.outages.faults }),
  };
  return (await meters?.start(facts, enders)) ?? null;
}

/** Ends everything in the reverse order; what fails to end is logged and does not keep the rest. */
async function endAll(enders: Ender[], { logger, isFailed }: { logger: Logger; isFailed: boolean }): Promise<void> {
  for (let ender = enders.pop(); ender !== undefined; ender = enders.pop()) {
    await ender(isFailed).catch((error: unknown) =>
      logger.warn({ err: error }, 'Part of the service did not stop cleanly'),
    );
  }
}
