// Loads the code of a service: each role costs a part of the start, and some of the memory.
import type { MeasurePrompt } from '../src/features/batches/submit-batch.ts';
import type { Database } from '../src/database/database.ts';
import type { openPromptMeter } from './start-worker.ts';

export type Role = 'api' | 'worker' | 'scheduler';

export type Modules = Awaited<ReturnType<typeof loadModules>>;

/** Imports the modules that the roles need; null: none of the roles needs it. */
export async function loadModules(roles: readonly Role[], { isTraced }: { isTraced: boolean }) {
  const [shared, own] = await Promise.all([loadShared(), loadOwn(roles, isTraced)]);
  return { ...shared, ...own };
}

/** What every process needs. */
async function loadShared() {
  const [inspect, migrate, database, service, budgets, queue, jobs, reconciler, waiting, reports, troubles, derive] =
    await Promise.all([
      import('../src/database/inspect-database.ts'),
      import('../src/database/migrate.ts'),
      import('../src/database/database.ts'),
      import('../src/kernel/use-cases/service.ts'),
      import('../src/features/budgets/open-budgets.ts'),
      import('./queue/open-queue-backend.ts'),
      import('../jobs/index.ts'),
      import('./reconciler.ts'),
      import('./still-waiting.ts'),
      import('./report-process.ts'),
      import('../src/features/overview/trouble-log.ts'),
      import('../src/kernel/turn/open/derive-request.ts'),
    ]);
  return {
    inspectDatabase: inspect.inspectDatabase,
    migrate: migrate.migrate,
    requireLayout: migrate.requireLayout,
    createLayoutCheck: migrate.createLayoutCheck,
    openDatabase: database.openDatabase as (options: Parameters<typeof database.openDatabase>[0]) => Database,
    openQueueBackend: queue.openQueueBackend,
    createService: service.createService,
    openBudgets: budgets.openBudgets,
    storeBudgets: budgets.storeBudgets,
    createDoorbell: jobs.createDoorbell,
    Reconciler: reconciler.Reconciler,
    stillWaiting: waiting.stillWaiting,
    identityOf: reports.readIdentity,
    startReports: reports.startReports,
    startTroubleLog: troubles.startTroubleLog,
    deriveRequest: derive.deriveRequest,
  };
}

/** What these roles need. */
async function loadOwn(roles: readonly Role[], isTraced: boolean) {
  const isApi = roles.includes('api');
  const isScheduler = roles.includes('scheduler');
  const [api, apiContext, worker, scheduler, workLists, providerLane, tracing] = await Promise.all([
    isApi ? import('../src/api/create-api.ts') : null,
    isApi ? import('../src/api/context.ts') : null,
    roles.includes('worker') ? import('./start-worker.ts') : null,
    isScheduler ? import('./scheduler.ts') : null,
    isScheduler ? import('./work-lists.ts') : null,
    isScheduler ? import('../src/features/provider-batches/provider-lane.ts') : null,
    isTraced ? import('../src/features/traces/start-tracing.ts') : null,
  ]);
  return {
    createApi: api?.createApi ?? null,
    createApiContext: apiContext?.createApiContext ?? null,
    startWorker: worker?.startWorker ?? null,
    Scheduler: scheduler?.Scheduler ?? null,
    startWorkLists: workLists?.startWorkLists ?? null,
    startProviderLane: providerLane?.startProviderLane ?? null,
    startTracing: tracing?.startTracing ?? null,
  };
}

/** Measures prompts in a process without a worker. What that needs is loaded when the first estimate asks for it. */
export function createPromptMeter(options: Parameters<typeof openPromptMeter>[0]): MeasurePrompt {
  let opening: Promise<MeasurePrompt> | undefined;
  return async (item) => {
    opening ??= import('./start-worker.ts').then((worker) => worker.openPromptMeter(options));
    return (await opening)(item);
  };
}
