// Builds the context of turns in a worker process: the store's shared statements, the locks, the model, the tools.
import type { Publish } from '../src/after-commit.ts';
import type { Clock } from '../src/clock.ts';
import { livePriceBook, type Config } from '../src/config.ts';
import { rateLimitsOf, type RateLimit } from '../src/core/governor/rate-limit.ts';
import { DENIED_TOOLS } from '../src/core/subagent-spawn.ts';
import { ImageLoader } from '../src/images/load-images.ts';
import type { Logger } from '../src/logger.ts';
import type { Model } from '../src/model/model.ts';
import type { Plugins } from '../src/plugins/plugins.ts';
import type { Database } from '../src/store/database.ts';
import { createBeginCompaction } from '../src/store/journal/begin-compaction.ts';
import { createCommitStep } from '../src/store/journal/commit-step.ts';
import { createFinishTurn } from '../src/store/journal/finish-turn.ts';
import { createOpenTurn } from '../src/store/journal/open-turn.ts';
import { createParkTurn } from '../src/store/journal/park-turn.ts';
import type { BudgetBook } from '../src/store/budgets/budget-book.ts';
import { createReserveCost } from '../src/store/budgets/reserve-cost.ts';
import { createWriteCompaction } from '../src/store/journal/write-compaction.ts';
import { blockModel, markAway, markBack, takeProbe, type ModelBlock } from '../src/store/governor/model-blocks.ts';
import { openRateWindows, takeAllowance } from '../src/store/governor/take-allowance.ts';
import { createClaim } from '../src/store/claim-session.ts';
import { createRelease } from '../src/store/session-locks.ts';
import { wakeParked } from '../src/store/wake-parked.ts';
import type { Tool } from '../src/tools/tool.ts';
import { createToolset, type Toolset } from '../src/tools/toolset.ts';
import type { TurnContext } from '../src/turn/context.ts';
import { DeltaWriter } from '../src/turn/delta-writer.ts';
import { LockKeeper } from '../src/turn/held-session.ts';
import { ModelGovernor } from '../src/turn/loop/model-governor.ts';
import { ModelBlocks } from '../src/turn/loop/model-blocks.ts';
import { ModelGate } from '../src/turn/loop/model-gate.ts';
import { OutputHistory } from '../src/turn/recent-outputs.ts';
import type { RateMetrics } from './process-metrics.ts';
import { KnownSnapshots, SnapshotCache } from '../src/turn/snapshot-cache.ts';
import type { Tracing } from '../src/tracing.ts';
import { TranscriptCache } from '../src/turn/transcript-cache.ts';
import { NO_METER, type TurnMeter } from '../src/turn/turn-meter.ts';

export interface WorkerParts {
  config: Config;
  logger: Logger;
  clock: Clock;
  database: Database;
  publish: Publish;
  budgets: BudgetBook;
  isAwaited: TurnContext['isAwaited'];
  model: Model;
  /** All tools, those of plugins among them. */
  tools: readonly Tool[];
  plugins: Plugins;
  /** Names this process among the owners of locks; never used twice. */
  owner: string;
  isDraining: () => boolean;
  /** Absent: nothing measures the turns. */
  meter?: TurnMeter | undefined;
  /** Absent: nothing is traced. */
  tracing?: Tracing | undefined;
  /** Absent: nothing measures the waits for models. */
  rateMetrics?: RateMetrics | undefined;
}

/** The context of a worker's turns. The lock keeper in it must be started. */
export function createTurnContext(parts: WorkerParts): TurnContext {
  const { config, logger, clock, database, publish } = parts;
  const { leaseMs } = config.runtime;
  const accountOf: Model['accountOf'] = (model) => parts.model.accountOf(model);
  const blocks = new ModelBlocks({
    clock,
    accountOf,
    write: (block, detail) => blockModel(database, block, detail),
    onBlock: (block) => parts.rateMetrics?.blocked(block),
  });
  const gate = createGate(parts);
  const learn = (known: readonly ModelBlock[]): void => {
    blocks.learn(known);
    gate.learn(known);
  };
  return {
    config,
    clock,
    logger,
    database,
    store: {
      claim: createClaim(database),
      release: createRelease(database),
      openTurn: createOpenTurn(database),
      commitStep: createCommitStep(database),
      parkTurn: createParkTurn(database),
      finishTurn: createFinishTurn(database),
      beginCompaction: createBeginCompaction(database),
      writeCompaction: createWriteCompaction(database),
      reserveCost: createReserveCost(database),
    },
    locks: new LockKeeper({
      database,
      clock,
      logger,
      owner: parts.owner,
      leaseMs,
      onBlocks: learn,
    }),
    deltas: new DeltaWriter({
      database,
      logger,
      onWritten: (sessionId) => void publish({ after: { changed: [sessionId], rings: [] } }),
    }),
    transcripts: new TranscriptCache(),
    model: parts.model,
    prices: livePriceBook(config),
    budgets: parts.budgets,
    recentOutputs: new OutputHistory(),
    gate,
    blocks,
    learnBlocks: learn,
    governor: createGovernor(parts, accountOf),
    meter: parts.meter ?? NO_METER,
    onRateWait: (wait) => parts.rateMetrics?.waited(wait),
    toolsetOf: createToolsets(parts.tools),
    plugins: parts.plugins,
    images: new ImageLoader({ dataDir: config.runtime.dataDir, roots: config.images.roots, logger }),
    knownSnapshots: new KnownSnapshots(),
    snapshotCache: new SnapshotCache(),
    random: Math.random,
    isDraining: parts.isDraining,
    publish,
    tracing: parts.tracing ?? null,
    isAwaited: parts.isAwaited,
  };
}

function createGovernor({ config, clock, database, owner }: WorkerParts, accountOf: Model['accountOf']) {
  return new ModelGovernor({
    limits: liveLimits(config),
    clock,
    accountOf,
    store: {
      open: (asks) => openRateWindows(database, asks),
      take: (asks) => takeAllowance(database, owner, asks),
    },
    onFault: (error) => database.outages.report(error, 'Rate limits could not be read'),
  });
}

/** The rate limits of the running configuration; the same list while they are the same. */
function liveLimits(config: Config): () => readonly RateLimit[] {
  let known = { written: config.models.limits, limits: rateLimitsOf(config.models.limits) };
  return () => {
    const written = config.models.limits;
    if (known.written !== written) known = { written, limits: rateLimitsOf(written) };
    return known.limits;
  };
}

/** When a model answers again, the turns that wait for its provider are woken; if that fails, they become due by themselves. */
function createGate({ config, clock, database, logger, model }: WorkerParts): ModelGate {
  return new ModelGate({
    clock,
    random: Math.random,
    bounds: config.models.outage.probeMs,
    accountOf: (named) => model.accountOf(named),
    takeProbe: (blocked, forMs) => takeProbe(database, blocked, forMs),
    onAway(away, { isNews, ...facts }) {
      const { model: name } = away;
      if (isNews) logger.warn({ model: name }, 'Model is away; no worker calls it but for one test at a time');
      markAway(database, away, facts).catch((error: unknown) =>
        database.outages.report(error, 'It could not be stored that a model is away', { model: name }),
      );
    },
    onBack(back, { isOwn }) {
      const { model: name } = back;
      if (isOwn) logger.info({ model: name }, 'Model answers again; the turns that wait for it resume');
      const marked = isOwn ? markBack(database, back) : Promise.resolve();
      const by = name.slice(0, name.indexOf('/'));
      marked
        .then(() => wakeParked(database, { code: 'model_away', by }))
        .catch((error: unknown) =>
          logger.warn(
            { err: error, model: name },
            'Turns that wait for the model could not be woken; each resumes when its wait ends',
          ),
        );
    },
  });
}

/** Messages can have policies of their own, so those that are kept have a bound. */
const TOOLSETS_MAX = 100;

function createToolsets(tools: readonly Tool[]): TurnContext['toolsetOf'] {
  const known = new Map<string, Toolset>();
  return ({ toolPolicies }, role) => {
    const name = JSON.stringify([role, toolPolicies]);
    let toolset = known.get(name);
    if (toolset === undefined) {
      if (known.size >= TOOLSETS_MAX) known.clear();
      toolset = createToolset({ tools, policy: [...toolPolicies, { deny: [...DENIED_TOOLS[role]] }] });
      known.set(name, toolset);
    }
    return toolset;
  };
}
