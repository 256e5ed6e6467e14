// Builds the context of turns in a worker process: the store's shared statements, the locks, the model, the tools.
import type { Publish } from '../src/kernel/queue/after-commit.ts';
import type { Clock } from '../src/clock.ts';
import { livePriceBook, type Config } from '../src/config.ts';
import { DENIED_TOOLS } from '../src/core/subagent-spawn.ts';
import { ImageLoader } from '../src/images/load-images.ts';
import type { Logger } from '../src/logger.ts';
import type { Model } from '../src/model/model.ts';
import type { Plugins } from '../src/plugins/plugins.ts';
import type { Database } from '../src/database/database.ts';
import type { Effects } from '../src/kernel/effects/turn-effects.ts';
import { createBeginCompaction } from '../src/kernel/turn/journal/begin-compaction.ts';
import { createCommitStep } from '../src/kernel/turn/journal/commit-step.ts';
import { createFinishTurn } from '../src/kernel/turn/journal/finish-turn.ts';
import { createOpenTurn } from '../src/kernel/turn/journal/open-turn.ts';
import { createParkTurn } from '../src/kernel/turn/journal/park-turn.ts';
import { createWriteCompaction } from '../src/kernel/turn/journal/write-compaction.ts';
import { createClaim } from '../src/kernel/sessions/claim-session.ts';
import { createRelease } from '../src/kernel/sessions/session-locks.ts';
import type { Tool } from '../src/tools/tool.ts';
import { createToolset, type Toolset } from '../src/tools/toolset.ts';
import type { TurnContext, TurnFeature, TurnParts } from '../src/kernel/turn/context.ts';
import { DeltaWriter } from '../src/kernel/turn/delta-writer.ts';
import { LockKeeper } from '../src/kernel/turn/held-session.ts';
import { ModelStates } from '../src/kernel/turn/model-states.ts';
import { listKinds } from '../src/kernel/turn/loop/held-calls.ts';
import { patienceCheck } from '../src/kernel/turn/gate/store-park.ts';
import { OutputHistory } from '../src/kernel/turn/recent-outputs.ts';
import type { RateMetrics } from './process-metrics.ts';
import { KnownSnapshots, SnapshotCache } from '../src/kernel/turn/snapshot-cache.ts';
import type { Tracing } from '../src/tracing.ts';
import { TranscriptCache } from '../src/kernel/turn/transcript-cache.ts';
import { NO_METER, type TurnMeter } from '../src/kernel/turn/turn-meter.ts';

export interface WorkerParts {
  config: Config;
  logger: Logger;
  clock: Clock;
  database: Database;
  effects: Effects;
  publish: Publish;
  model: Model;
  /** What features do in its turns. */
  turns: readonly ((parts: TurnParts) => TurnFeature)[];
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
  const recentOutputs = new OutputHistory();
  const models = new ModelStates({
    clock,
    database,
    logger,
    random: Math.random,
    bounds: config.models.outage.probeMs,
    model: parts.model,
    onBlock: (block) => parts.rateMetrics?.blocked(block),
  });
  const prices = livePriceBook(config);
  const features = parts.turns.map((make) => make({ ...parts, prices, recentOutputs }));
  return {
    config,
    clock,
    logger,
    database,
    effects: parts.effects,
    store: createStore(database, features),
    locks: new LockKeeper({
      database,
      clock,
      logger,
      owner: parts.owner,
      leaseMs,
      onBlocks: (blocks) => models.learn(blocks),
    }),
    deltas: new DeltaWriter({
      database,
      logger,
      onWritten: (sessionId) => void publish({ after: { changed: [sessionId], rings: [] } }),
    }),
    transcripts: new TranscriptCache(),
    model: parts.model,
    prices,
    recentOutputs,
    models,
    features,
    checks: [
      patienceCheck(parts),
      models.blocked,
      models.away,
      ...features.flatMap(({ check }) => check ?? []),
      // A block may have been met while the others were asked.
      models.blocked,
    ],
    meter: parts.meter ?? NO_METER,
    onRateWait: (wait) => parts.rateMetrics?.waited(wait),
    toolsetOf: createToolsets(parts.tools, features),
    plugins: parts.plugins,
    images: new ImageLoader({ dataDir: config.runtime.dataDir, roots: config.images.roots, logger }),
    knownSnapshots: new KnownSnapshots(),
    snapshotCache: new SnapshotCache(),
    random: Math.random,
    isDraining: parts.isDraining,
    publish,
    tracing: parts.tracing ?? null,
  };
}

/** The statements of turns. */
function createStore(database: Database, features: readonly TurnFeature[]): TurnContext['store'] {
  return {
    claim: createClaim(database),
    release: createRelease(database),
    openTurn: createOpenTurn(database),
    commitStep: createCommitStep(
      database,
      new Map(listKinds({ features }).flatMap(({ code, keep }) => (keep === undefined ? [] : [[code, keep] as const]))),
    ),
    parkTurn: createParkTurn(database),
    finishTurn: createFinishTurn(database),
    beginCompaction: createBeginCompaction(database),
    writeCompaction: createWriteCompaction(database),
  };
}

/** Messages can have policies of their own, so those that are kept have a bound. */
const TOOLSETS_MAX = 100;

function createToolsets(tools: readonly Tool[], features: readonly TurnFeature[]): TurnContext['toolsetOf'] {
  const known = new Map<string, Toolset>();
  const asked = features.flatMap((feature) => feature.tools ?? []);
  return async (agent, role) => {
    const { id, toolPolicies } = agent;
    const changing = (await Promise.all(asked.map((ask) => ask(id, agent)))).filter((each) => each !== null);
    const name = JSON.stringify([role, toolPolicies, ...changing.map(({ version }) => version)]);
    let toolset = known.get(name);
    if (toolset === undefined) {
      if (known.size >= TOOLSETS_MAX) known.clear();
      toolset = createToolset({ tools, policy: [...toolPolicies, { deny: [...DENIED_TOOLS[role]] }], changing });
      known.set(name, toolset);
    }
    return toolset;
  };
}
