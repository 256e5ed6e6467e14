// Starts the service: any of the roles api, worker and scheduler in this process, on the database and queue that the environment
// names, or on its own. Everything that is started here is ended by `drain`, in the reverse order.
import { Registry } from 'prom-client';
import { systemClock } from '../src/clock.ts';
import { agentOf, ensureApiKey, isAgent, modelNotices, type Config, type ThinkingLevel } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import type { Database } from '../src/store/database.ts';
import { describeCommands } from '../src/tools/command-user.ts';
import { openDataDir } from '../src/tools/open-workspace.ts';
import { createWake } from '../src/wake.ts';
import { createJobMetrics } from './job-metrics.ts';
import { listenWarnings } from './listen-warnings.ts';

export type Role = 'api' | 'worker' | 'scheduler';

export interface ServiceOptions {
  config: Config;
  roles: readonly Role[];
  /** False: the database is used as it is. */
  migrate: boolean;
  logger: Logger;
}

export interface RunningService {
  /** Where the API listens; null without the api role. */
  url: string | null;
  /** What to tell a person at the start. */
  lines: string[];
  /** The same for the log. */
  facts: { database: 'embedded' | 'configured'; queue: string; model: string; isScripted: boolean };
  /** Accepts nothing new, releases running turns, and ends everything that was started. */
  drain(): Promise<void>;
}

/** The part of the grace that the lanes get; the rest is for closing. */
const LANES_SHARE = 0.8;

type Ender = () => Promise<unknown>;

/** Starts what the roles need. Rejects with the first fault, having ended what had been started. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const enders: Ender[] = [];
  try {
    return await start(options, enders);
  } catch (error) {
    await endAll(enders, options.logger);
    throw error;
  }
}

async function start(options: ServiceOptions, enders: Ender[]): Promise<RunningService> {
  const { config, roles, logger } = options;
  await openDataDir(config);
  // The database needs some time to start: the code is loaded meanwhile.
  const [databaseUrl, modules, modelEndpoint] = await Promise.all([
    databaseUrlOf(config, logger, enders),
    loadModules(roles),
    modelEndpointOf(config, roles, enders),
  ]);
  const { redisUrl } = config.runtime;
  const { warnings } = await modules.inspectDatabase(databaseUrl);
  for (const warning of warnings) logger.warn({ dependency: 'database' }, warning);
  await (options.migrate ? modules.migrate(databaseUrl) : modules.requireLayout(databaseUrl));
  const database = modules.openDatabase({
    url: databaseUrl,
    role: roles.length === 1 ? (roles[0] ?? 'service') : 'service',
    logger,
  });
  enders.push(() => database.close());
  const backend = await modules.openQueueBackend({ databaseUrl, redisUrl, logger, isMigrating: options.migrate });
  enders.push(() => backend.close());
  const doorbell = modules.createDoorbell({ queue: backend.queue, outages: backend.outages });
  enders.push(() => doorbell.close());
  const wake = createWake();
  const service = modules.createService({ config, database, wake, doorbell });
  const parts = { logger, clock: systemClock, service, wake };

  const reconciler = new modules.Reconciler({
    database,
    publish: service.publish,
    logger,
    reconcileMs: config.runtime.reconcileMs,
    modes: config.messages.queue,
    stillWaiting: (rings) => modules.stillWaiting(backend, rings),
    pingQueue: () => backend.ping(),
    onQueueFault: backend.outages.failed,
    lanes: roles.includes('worker')
      ? {
          free: (lane) => worker?.direct.free(lane) ?? 0,
          look: (lane, ring) => worker?.direct.look(lane, ring) ?? false,
        }
      : null,
  });
  enders.push(() => reconciler.stop());
  const metrics = modules.createApi === null ? null : new Registry();
  const onJobEnd = metrics === null || modules.startWorker === null ? undefined : createJobMetrics(metrics);
  const worker =
    modules.startWorker === null ? null : await modules.startWorker({ ...parts, backend, modelEndpoint, onJobEnd });
  if (worker !== null) enders.push(() => worker.drain(config.shutdown.graceMs * LANES_SHARE));
  // Messages of a process that only accepts are rung for by those that work.
  const isReconciling = roles.includes('worker') || roles.includes('scheduler');
  if (isReconciling) reconciler.start();
  if (roles.includes('scheduler')) enders.push(modules.startHousekeeper(service, logger));
  if (modules.Scheduler !== null) {
    const scheduler = new modules.Scheduler({ service, logger });
    enders.push(() => scheduler.stop());
    scheduler.start();
  }

  const lines = [
    `database   ${config.runtime.databaseUrl === undefined ? `embedded PostgreSQL in ${config.runtime.dataDir}` : 'DATABASE_URL'}`,
    `queue      BullMQ on ${backend.kind === 'redis' ? 'Redis' : 'PostgreSQL'}`,
    `model      ${modelEndpoint.isScripted ? 'scripted answers (no ANTHROPIC_API_KEY; tools are real)' : defaultModelOf(config)}`,
  ];
  if (worker !== null) lines.push(`commands   ${describeCommands(config)}`);
  for (const notice of modelNotices(config, dayOf(systemClock.now()))) lines.push(`warning    ${notice}`);
  for (const warning of warnings) lines.push(`warning    ${warning}`);
  let url: string | null = null;
  if (modules.createApi !== null && modules.createApiContext !== null) {
    const apiKey = await ensureApiKey(config);
    const api = modules.createApi(
      modules.createApiContext({
        ...parts,
        adminKey: apiKey.key,
        ...(metrics === null ? {} : { metrics }),
        modelInfo: { provider: 'anthropic', name: defaultModelOf(config), isScripted: modelEndpoint.isScripted },
        dependencies: [
          { name: 'layout', check: await modules.createLayoutCheck(database.views) },
          { name: 'queue', isOptional: true, check: () => backend.ping() },
          ...(isReconciling ? [{ name: 'reconciler', check: () => reconciler.check() }] : []),
        ],
        deriveRequest: (turnId, callNo) =>
          modules.deriveRequest(database, { turnId, callNo, defaultThinking: thinkingOf(config) }),
      }),
    );
    enders.push(() => api.close());
    url = await api.listen({ host: config.runtime.host, port: config.runtime.port });
    lines.unshift(`holdfast   ${url}`);
    lines.push(`api key    ${apiKey.path ?? 'HOLDFAST_API_KEY'}`);
    for (const warning of listenWarnings(config)) {
      lines.push(`warning    ${warning}`);
      logger.warn({ host: config.runtime.host }, warning);
    }
  }
  return {
    url,
    lines,
    facts: {
      database: config.runtime.databaseUrl === undefined ? 'embedded' : 'configured',
      queue: backend.kind,
      model: defaultModelOf(config),
      isScripted: modelEndpoint.isScripted,
    },
    async drain() {
      await endAll(enders, logger);
    },
  };
}

/** Only what the roles need is loaded: each of these costs a part of the start. */
async function loadModules(roles: readonly Role[]) {
  const isApi = roles.includes('api');
  const isWorker = roles.includes('worker');
  const [
    inspect,
    migrate,
    database,
    service,
    queue,
    jobs,
    reconciler,
    waiting,
    housekeeper,
    derive,
    api,
    apiContext,
    worker,
    scheduler,
  ] = await Promise.all([
    import('../src/store/inspect-database.ts'),
    import('../src/store/migrate.ts'),
    import('../src/store/database.ts'),
    import('../src/service/service.ts'),
    import('./queue/open-queue-backend.ts'),
    import('../jobs/index.ts'),
    import('./reconciler.ts'),
    import('./still-waiting.ts'),
    import('./housekeeper.ts'),
    import('../src/turn/open/derive-request.ts'),
    isApi ? import('../src/api/create-api.ts') : null,
    isApi ? import('../src/api/create-context.ts') : null,
    isWorker ? import('./start-worker.ts') : null,
    roles.includes('scheduler') ? import('./scheduler.ts') : null,
  ]);
  return {
    inspectDatabase: inspect.inspectDatabase,
    migrate: migrate.migrate,
    requireLayout: migrate.requireLayout,
    createLayoutCheck: migrate.createLayoutCheck,
    openDatabase: database.openDatabase as (options: Parameters<typeof database.openDatabase>[0]) => Database,
    openQueueBackend: queue.openQueueBackend,
    createService: service.createService,
    createDoorbell: jobs.createDoorbell,
    Reconciler: reconciler.Reconciler,
    stillWaiting: waiting.stillWaiting,
    startHousekeeper: housekeeper.startHousekeeper,
    deriveRequest: derive.deriveRequest,
    createApi: api?.createApi ?? null,
    createApiContext: apiContext?.createApiContext ?? null,
    startWorker: worker?.startWorker ?? null,
    Scheduler: scheduler?.Scheduler ?? null,
  };
}

async function databaseUrlOf(config: Config, logger: Logger, enders: Ender[]): Promise<string> {
  if (config.runtime.databaseUrl !== undefined) return config.runtime.databaseUrl;
  const { startEmbeddedPostgres } = await import('../src/embedded-postgres/start-embedded-postgres.ts');
  const embedded = await startEmbeddedPostgres({ dataDir: config.runtime.dataDir, logger });
  enders.push(() => embedded.stop());
  return embedded.url;
}

interface ModelEndpoint {
  apiKey: string;
  baseUrl?: string;
  isScripted: boolean;
}

/** Without a key the worker starts its own model server with the same protocol: the client code is the same. */
async function modelEndpointOf(config: Config, roles: readonly Role[], enders: Ender[]): Promise<ModelEndpoint> {
  const { anthropicApiKey, anthropicBaseUrl } = config.runtime;
  if (anthropicApiKey !== undefined) {
    return {
      apiKey: anthropicApiKey,
      isScripted: false,
      ...(anthropicBaseUrl === undefined ? {} : { baseUrl: anthropicBaseUrl }),
    };
  }
  if (anthropicBaseUrl !== undefined) return { apiKey: 'none', baseUrl: anthropicBaseUrl, isScripted: false };
  if (!roles.includes('worker')) return { apiKey: 'none', isScripted: true };
  const { startScriptedModel } = await import('../scripted-model/scripted-model.ts');
  const scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  enders.push(() => scripted.close());
  return { apiKey: 'scripted', baseUrl: scripted.url, isScripted: true };
}

/** The thinking level of an agent's turns that set none. */
function thinkingOf(config: Config): (agentId: string) => ThinkingLevel {
  return (agentId) => (isAgent(config, agentId) ? agentOf(config, agentId).thinking : 'off');
}

function defaultModelOf(config: Config): string {
  return agentOf(config, config.agents.list[0]?.id ?? 'main').model;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** Ends everything in the reverse order; what fails to end is logged and does not keep the rest. */
async function endAll(enders: Ender[], logger: Logger): Promise<void> {
  for (let ender = enders.pop(); ender !== undefined; ender = enders.pop()) {
    await ender().catch((error: unknown) => logger.warn({ err: error }, 'Part of the service did not stop cleanly'));
  }
}
