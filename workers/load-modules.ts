// Loads the code of a service: each role costs a part of the start, and some of the memory.
import type { Feature } from '../src/kernel/features.ts';
import type { OpenPart, Role } from '../src/kernel/process-part.ts';
import type { Database } from '../src/database/database.ts';
import type { AskedTurns } from './start-worker.ts';

export type Modules = Awaited<ReturnType<typeof loadModules>>;

/** Imports the modules that the roles need; null: none of the roles needs it. */
export async function loadModules(
  roles: readonly Role[],
  { features, isTraced }: { features: readonly Feature[]; isTraced: boolean },
) {
  const [shared, own, hooks, parts, tracings] = await Promise.all([
    loadShared(),
    loadOwn(roles, features),
    loadHooks(features),
    loadParts(roles, features),
    Promise.all(isTraced ? features.flatMap(({ tracing }) => tracing?.() ?? []) : []),
  ]);
  return { ...shared, ...own, ...hooks, parts, openTracing: tracings[0] };
}

/** What the features run in processes of these roles. */
function loadParts(roles: readonly Role[], features: readonly Feature[]): Promise<OpenPart[]> {
  const parts = features.flatMap(({ inRoles = [] }) => inRoles);
  return Promise.all(parts.filter((part) => roles.some((role) => part.roles.includes(role))).map(({ load }) => load()));
}

/** What features carry out in every process. */
export async function loadHooks(features: readonly Feature[]) {
  const [{ joinEffects }, effects, chat] = await Promise.all([
    import('../src/kernel/effects/carry-out.ts'),

    Promise.all(features.map(async (feature) => (await feature.effects?.()) ?? {})),
    Promise.all(features.map(async (feature) => (await feature.chat?.()) ?? [])),
  ]);
  return { effects: joinEffects(effects), chat: chat.flat() };
}

/** What every process needs. */
async function loadShared() {
  const [inspect, migrate, database, service, queue, jobs, reconciler, waiting, watch, reports, derive] =
    await Promise.all([
      import('../src/database/inspect-database.ts'),
      import('../src/database/migrate.ts'),
      import('../src/database/database.ts'),
      import('../src/kernel/use-cases/service.ts'),
      import('./queue/open-queue-backend.ts'),
      import('../jobs/index.ts'),
      import('./reconciler.ts'),
      import('./create-reconciler.ts'),
      import('../src/kernel/queue/work-watch.ts'),
      import('./report-process.ts'),
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
    createDoorbell: jobs.createDoorbell,
    Reconciler: reconciler.Reconciler,
    openStillWaiting: waiting.openStillWaiting,
    createWorkWatch: watch.createWorkWatch,
    identityOf: reports.readIdentity,
    startReports: reports.startReports,
    deriveRequest: derive.deriveRequest,
  };
}

/** What these roles need. */
async function loadOwn(roles: readonly Role[], features: readonly Feature[]) {
  const isApi = roles.includes('api');
  const [api, apiContext, door, worker, scheduler] = await Promise.all([
    isApi ? import('../src/api/create-api.ts') : null,
    isApi ? import('../src/api/context.ts') : null,
    isApi ? loadDoor(features) : null,
    roles.includes('worker') ? import('./start-worker.ts') : null,
    roles.includes('scheduler') ? import('./scheduler.ts') : null,
  ]);
  return {
    createApi: api?.createApi ?? null,
    createApiContext: apiContext?.createApiContext ?? null,
    door: door ?? { routes: [], parts: [] },
    startWorker: worker?.startWorker ?? null,
    Scheduler: scheduler?.Scheduler ?? null,
  };
}

/** What the kernel and the features add to the API. */
async function loadDoor(features: readonly Feature[]) {
  const { listParts, listRoutes } = await import('../src/api/route-table.ts');
  const [routes, parts] = await Promise.all([listRoutes(features), listParts(features)]);
  return { routes, parts };
}

/**
 * What an API asks of turns, in a process without a worker. What that needs is loaded when it is
 * asked for the first time.
 */
export function openAskedTurns(
  options: Parameters<(typeof import('./start-worker.ts'))['openAskedTurns']>[0],
): () => Promise<AskedTurns> {
  let opening: Promise<AskedTurns> | undefined;
  return () => (opening ??= import('./start-worker.ts').then((worker) => worker.openAskedTurns(options)));
}
