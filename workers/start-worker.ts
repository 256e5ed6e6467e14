// The worker role: takes the jobs of every lane and runs turns, takes the jobs of the outbox and
// delivers replies.
import { QUEUE_NAMES, type QueueName } from '../jobs/index.ts';
import type { Clock } from '../src/clock.ts';
import { checkKnownTools, checkServedModels, type Config, type LiveConfig } from '../src/config.ts';
import { FEATURES } from '../src/features.ts';
import type { Logger } from '../src/logger.ts';
import { createConfiguredModel } from '../src/model/configured-model.ts';
import type { Model } from '../src/model/model.ts';
import { loadCheckedPlugins, servedProviders, listToolNames } from '../src/plugins/load-checked-plugins.ts';
import { CLOSED_INBOX, type PluginInbox } from '../src/plugins/plugin-inbox.ts';
import type { Plugins } from '../src/plugins/plugins.ts';
import type { MeasurePrompt, Service } from '../src/kernel/use-cases/service.ts';
import { isPassingFault } from '../src/database/passing-faults.ts';
import type { ProcessPart } from '../src/kernel/process-part.ts';
import type { LaneUse } from '../src/kernel/processes/report-worker.ts';
import { createCoreTools } from '../src/tools/core-tools.ts';
import { openWorkspaces } from '../src/tools/open-workspace.ts';
import type { TurnContext } from '../src/kernel/turn/context.ts';
import { measurePrompt } from '../src/kernel/use-cases/measure-prompt.ts';
import { runTurn } from '../src/kernel/turn/run/run-turn.ts';
import type { Tracing } from '../src/tracing.ts';
import { createTurnContext, createSessionStatusPort, createToolPorts } from './create-turn-context.ts';
import type { DirectLanes } from './reconciler.ts';
import type { QueueBackend } from './queue/queue-backend.ts';
import { startLaneWorkers, type JobEnd, type LaneJob, type LaneWorker } from './queue/start-lane-worker.ts';
import { createPluginInbox } from './plugin-inbox.ts';
import type { Sandbox } from '../src/tools/sandbox/sandbox.ts';
import type { WorkMeters } from './process-metrics.ts';

export interface WorkerOptions {
  /** The owner of its locks; never used by two processes. */
  owner: string;
  /** The configuration of `service`. */
  live: LiveConfig;
  logger: Logger;
  clock: Clock;
  service: Service;
  backend: QueueBackend;
  meters: WorkMeters;
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined;
  /** Where and with which key the model is asked. */
  modelEndpoint: { apiKey: string; baseUrl?: string };
  /** Absent: this process delivers nothing. */
  deliver?: ProcessPart['deliver'];
}

/** What an API asks of turns. */
export interface AskedTurns {
  measurePrompt: MeasurePrompt;
  model: Model;
}

export interface RunningWorker extends AskedTurns {
  /** The lanes, for work that comes without the queue. */
  direct: DirectLanes;
  /** How many jobs each lane may run, and runs now. */
  lanes(): Record<string, LaneUse>;
  /** Where commands run; null: there are none. */
  sandbox: Sandbox | null;
  /**
   * Fetches nothing new, releases running turns, and resolves when nothing runs or the grace has
   * passed.
   */
  drain(graceMs: number): Promise<void>;
}

/** Jobs of the outbox that run at the same time. */
const DELIVERIES_CONCURRENCY = 8;

/** Starts the worker role; jobs are fetched immediately. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { live, service, backend, deliver } = options;
  const { config } = service;
  const draining = new AbortController();
  await openWorkspaces(config);
  const turns = await openTurns(options, createPluginInbox(service), () => draining.signal.aborted);
  const { context, plugins, model, ports } = turns;
  live.follow({ prepare: (next) => checkReload(next, plugins) });
  context.store.locks.start();
  ports.keeper?.start();
  ports.sandbox?.start(options.logger);
  // A lane of concurrency 0 is left to other workers.
  const taken = QUEUE_NAMES.filter((lane) =>
    lane === 'deliver' ? deliver !== undefined : config.runtime.concurrency[lane] > 0,
  );
  async function leave(lanes: LaneWorker[], graceMs: number): Promise<void> {
    draining.abort();
    await drainLanes(lanes, graceMs);
    await ports.keeper?.stop();
    await ports.sandbox?.stop();
    context.store.locks.stop();
    for (const check of context.models.checks) check.stop?.();
    await model.close();
  }
  const lanes = await startLaneWorkers(
    backend,
    taken.map((lane) => ({
      lane,
      concurrency: chooseConcurrency(config, lane),
      process: async (job) => void (await (lane === 'deliver' ? deliver?.(job) : runUntilShutdown(context, job))),
      onEnd: (end) => observeJob(options, end),
    })),
    (started) => leave(started, config.shutdown.graceMs),
  );
  return {
    direct: {
      free: (wanted) => lanes.find(({ lane }) => lane === wanted)?.free() ?? 0,
      tryRun: (wanted, ring) => lanes.find(({ lane }) => lane === wanted)?.tryRun(ring) ?? false,
    },
    lanes: () => Object.fromEntries(lanes.map((one) => [one.lane, { slots: one.slots, inUse: one.active() }])),
    measurePrompt: (item) => measurePrompt(context, item),
    model,
    sandbox: ports.sandbox,
    drain: (graceMs) => leave(lanes, graceMs),
  };
}

type TurnOptions = Pick<
  WorkerOptions,
  'service' | 'live' | 'logger' | 'clock' | 'owner' | 'meters' | 'tracing' | 'modelEndpoint'
>;

/** Everything that turns need. Nothing runs yet. */
async function openTurns(options: TurnOptions, inbox: PluginInbox, isDraining: () => boolean) {
  const { logger, clock, service, owner } = options;
  const { config, database, effects, publish } = service;
  const plugins = await loadCheckedPlugins(config, logger, inbox);
  const { transports } = plugins;
  const model = createConfiguredModel({ config, clock, logger, endpoint: options.modelEndpoint, transports });
  const ports = createToolPorts({ service, logger, owner, sandboxes: plugins.sandboxes });
  const context = createTurnContext({
    config,
    logger,
    clock,
    database,
    effects,
    publish,
    turns: await Promise.all(FEATURES.flatMap(({ turns }) => turns?.() ?? [])),
    owner,
    model,
    tools: await createTools(options, { ports, plugins }),
    plugins,
    isDraining,
    rateMetrics: options.meters.rateMetrics,
    meter: options.meters.meter,
    tracing: options.tracing,
  });
  return { context, plugins, model, ports };
}

/**
 * The same in a process without a worker: with the plugins of the workers, which can put nothing
 * into sessions from here.
 */
export async function openAskedTurns(options: Omit<TurnOptions, 'meters' | 'tracing'>): Promise<AskedTurns> {
  const { context, model } = await openTurns({ ...options, meters: {}, tracing: undefined }, CLOSED_INBOX, () => false);
  return { measurePrompt: (item) => measurePrompt(context, item), model };
}

/** The tools of all agents; what each of them has is for its policy to say. */
async function createTools(
  { service, clock }: TurnOptions,
  { ports, plugins }: { ports: ReturnType<typeof createToolPorts>; plugins: Plugins },
) {
  const { docs } = service.config;
  const ofFeatures = await Promise.all(FEATURES.map(async ({ tools }) => (await tools?.())?.(service) ?? []));
  return [
    ...createCoreTools({
      ...ports.options,
      sessionStatus: createSessionStatusPort(service, clock),
      // Prompts send agents there.
      readRoots: docs.enabled ? [docs.path] : [],
    }),
    ...ofFeatures.flat(),
    ...plugins.tools,
  ];
}

/** Refuses models and tools that there are not. */
function checkReload(next: Config, plugins: Plugins): void {
  checkServedModels(next, servedProviders(next, plugins));
  checkKnownTools(next, listToolNames(plugins));
}

/** Logs how a job ended, and counts it. */
function observeJob({ logger, meters, service }: WorkerOptions, end: JobEnd): void {
  const { queue, job, outcome, error } = end;
  const facts = { queue, job: job?.kind ?? 'unknown', sessionId: job?.sessionId, outcome };
  // While the database is away every job fails: its outage is logged, and a stack for each would
  // hide it.
  if (outcome === 'failed' && isPassingFault(error)) service.database.outages.failed(error);
  else if (outcome === 'failed') logger.error({ err: error, ...facts }, 'Job failed; the reconciler enqueues it again');
  else logger.debug(facts, 'Job ended');
  meters.onJobEnd?.(end);
}

/**
 * Jobs of a lane that run at the same time. The turns of subagents also have a bound of their own.
 */
function chooseConcurrency({ runtime, agents }: Config, lane: QueueName): number {
  if (lane === 'deliver') return DELIVERIES_CONCURRENCY;
  if (lane !== 'subagent') return runtime.concurrency[lane];
  return Math.max(1, Math.min(runtime.concurrency.subagent, agents.defaults.subagents.maxConcurrent));
}

/**
 * Runs the next turn of a session, which stops when its worker leaves, and rings for what follows;
 * again for a job that came meanwhile.
 */
async function runUntilShutdown(context: TurnContext, job: LaneJob): Promise<void> {
  const leave = (): void => context.store.locks.stopAll({ kind: 'shutdown', message: 'The worker is shutting down.' });
  job.signal.addEventListener('abort', leave, { once: true });
  try {
    for (let isWanted = true; isWanted;) {
      const outcome = context.publish(await runTurn(context, job.sessionId));
      isWanted = outcome.kind !== 'busy' && context.store.locks.takeTurnedAway(job.sessionId) && !job.draining.aborted;
    }
  } finally {
    job.signal.removeEventListener('abort', leave);
  }
}

async function drainLanes(lanes: LaneWorker[], graceMs: number): Promise<Record<QueueName, number>> {
  const left = await Promise.all(
    lanes.map(async (lane) => [lane.lane, (await lane.drain(graceMs)).stillActive] as const),
  );
  return Object.fromEntries(left) as Record<QueueName, number>;
}
