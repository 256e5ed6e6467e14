// Builds the context of turns in a worker process: the store's shared statements, the locks, the
// model, the tools.
import type { Publish } from '../src/kernel/queue/after-commit.ts';
import type { Clock } from '../src/clock.ts';
import { livePriceBook, type Config, agentOrFirst, processEnvironment } from '../src/config.ts';
import { DENIED_TOOLS } from '../src/core/subagents.ts';
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
import { ModelStates, OutputHistory } from '../src/kernel/turn/model-states.ts';
import { listKinds } from '../src/kernel/turn/loop/held-calls.ts';
import { patienceCheck } from '../src/kernel/turn/gate/gate.ts';
import type { RateMetrics } from './process-metrics.ts';
import { KnownSnapshots, SnapshotCache, TranscriptCache } from '../src/kernel/turn/transcript-cache.ts';
import type { Tracing } from '../src/tracing.ts';
import { NO_METER, type TurnMeter } from '../src/kernel/turn/turn-meter.ts';
import { join } from 'node:path';
import { addressOfChat } from '../src/config/schema-channels.ts';
import { chooseMessageFeatures, fileBytesMaxOf, sessionSettings } from '../src/config/agent-settings.ts';
import { outgoingFolder } from '../src/files/copies.ts';
import { overrideSession } from '../src/kernel/use-cases/accept-message.ts';
import { postMessage } from '../src/kernel/use-cases/post-message.ts';
import type { Service } from '../src/kernel/use-cases/service.ts';
import { createProcessStore } from '../src/kernel/turn/journal/processes.ts';
import { readTurnChat } from '../src/kernel/inbox/send-message.ts';
import { createReadSessionUsage } from '../src/kernel/sessions/session-usage.ts';
import type { CoreToolOptions } from '../src/tools/core-tools.ts';
import type { MessageToolOptions } from '../src/tools/message-tool.ts';
import { planAllCommands, planCommands } from '../src/tools/command-user.ts';
import { sandboxOf, type Sandbox } from '../src/tools/sandbox/sandbox.ts';
import type { SandboxRuntime } from '../src/tools/sandbox/port.ts';
import { ProcessKeeper } from '../src/tools/process-keeper.ts';
import type { SessionStatusPort } from '../src/tools/session-status-tool.ts';

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
  const states = new ModelStates({
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
    store: {
      ...createStatements(database, features),
      database,
      locks: new LockKeeper({
        database,
        clock,
        logger,
        owner: parts.owner,
        leaseMs,
        onBlocks: (blocks) => states.learn(blocks),
      }),
      deltas: new DeltaWriter({
        database,
        logger,
        onWritten: (sessionId) => void publish({ after: { changed: [sessionId], rings: [] } }),
      }),
      transcripts: new TranscriptCache(),
      knownSnapshots: new KnownSnapshots(),
      snapshotCache: new SnapshotCache(),
    },
    models: {
      client: parts.model,
      prices,
      recentOutputs,
      states,
      checks: [
        patienceCheck(parts),
        states.blocked,
        states.away,
        ...features.flatMap(({ check }) => check ?? []),
        // A block may have been met while the others were asked.
        states.blocked,
      ],
      onRateWait: (wait) => parts.rateMetrics?.waited(wait),
    },
    features,
    effects: parts.effects,
    toolsetOf: createToolsets(parts.tools, features),
    plugins: parts.plugins,
    images: new ImageLoader({ dataDir: config.runtime.dataDir, roots: config.images.roots, logger }),
    publish,
    meter: parts.meter ?? NO_METER,
    tracing: parts.tracing ?? null,
    random: Math.random,
    isDraining: parts.isDraining,
  };
}

function createStatements(database: Database, features: readonly TurnFeature[]) {
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

// Builds what the tools of a worker need of the database and the queue: the outbox, the keeper of
// commands in the background. The caller starts and stops the keeper.

export interface ToolPortParts {
  service: Service;
  logger: Logger;
  /** Names this process among the owners of commands; never used twice. */
  owner: string;
  /** The sandbox runtimes of plugins. */
  sandboxes?: readonly SandboxRuntime[];
}

export interface ToolPorts {
  options: Pick<CoreToolOptions, 'exec' | 'process' | 'webFetch' | 'message'>;
  /** Null where no command may be run. */
  keeper: ProcessKeeper | null;
  /** Null where no command may be run. */
  sandbox: Sandbox | null;
}

/** The ports that the configuration enables: disabled ones are absent. */
export function createToolPorts(parts: ToolPortParts): ToolPorts {
  const { config } = parts.service;
  const { fetch, message } = config.tools;
  const { keeper, sandbox, exec, process } = commandPorts(parts);
  return {
    keeper,
    sandbox,
    options: {
      exec,
      process,
      webFetch: fetch.enabled ? fetch : undefined,
      message: message.enabled ? messagePort(parts.service) : undefined,
    },
  };
}

function commandPorts({ service: { config, database }, logger, owner, sandboxes = [] }: ToolPortParts) {
  const { exec } = config.tools;
  // MCP servers have one also where there are no commands.
  const sandbox = sandboxOf(config, sandboxes);
  if (!exec.enabled) return { keeper: null, sandbox: null, exec: undefined, process: undefined };
  const { dataDir, leaseMs } = config.runtime;
  const store = createProcessStore(database);
  // Decided once: later changes on the disk must not change the user of commands.
  const plans = new Map(planAllCommands(config).map((plan) => [plan.workspaceDir, plan]));
  const keeper = new ProcessKeeper({
    store,
    dataDir,
    worker: owner,
    leaseMs,
    runMsMax: exec.backgroundSeconds * 1000,
    logger,
    outages: database.outages,
  });
  return {
    keeper,
    sandbox,
    process: { store, keeper, dataDir },
    exec: {
      timeoutSeconds: exec.timeoutSeconds,
      environment: processEnvironment(),
      sandbox,
      planOf(workspaceDir: string) {
        const plan = plans.get(workspaceDir) ?? planCommands(config, workspaceDir);
        plans.set(workspaceDir, plan);
        return plan;
      },
      background: { keeper, dataDir, timeoutSeconds: exec.backgroundSeconds },
    },
  };
}

function messagePort(service: Service): MessageToolOptions {
  const { config, database } = service;
  const { platforms } = config.channels;
  const known = Object.keys(platforms).filter((name) => platforms[name]?.enabled !== false);
  return {
    channels: {
      known,
      open: config.tools.message.channels,
      get url() {
        return config.channels.webhook.url;
      },
      addressOf: (chat) => addressOfChat(config, chat),
    },
    featuresOf: (channel) => chooseMessageFeatures(config, channel),
    fileBytesMaxOn: (channel) => fileBytesMaxOf(config, channel),
    outgoing: outgoingFolder(config.runtime.dataDir),
    mediaRoots: [join(config.runtime.dataDir, 'media'), ...config.images.roots],
    chat: (call) => readTurnChat(database, call),
    post: (message) => postMessage(service, message),
  };
}

/**
 * Serves the `session_status` tool: the session's row and figures, and the one override that an
 * agent may set for its own session.
 */
export function createSessionStatusPort(service: Service, clock: Clock): SessionStatusPort {
  const { config, database } = service;
  const readSessionUsage = createReadSessionUsage(database);
  return {
    async status({ sessionKey, agentId, tokens }) {
      const agent = agentOrFirst(config, agentId);
      const about = { now: clock.now(), timezone: agent.userTimezone };
      const row = await readSessionUsage(sessionKey);
      if (row === null) return about;
      const { facts, cacheReadTokens, cacheWriteTokens, turns } = row;
      const { input, output, context } = facts.tokens;
      // The row has what ended turns have used.
      const usage = {
        inputTokens: input + tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
        outputTokens: output + tokens.outputTokens,
        contextTokens: tokens.contextTokens || context,
        contextTokensMax: agent.contextTokens,
        cacheReadTokens: cacheReadTokens + tokens.cacheReadTokens,
        cacheWriteTokens: cacheWriteTokens + tokens.cacheWriteTokens,
        turns: turns + 1,
      };
      return { ...about, session: { settings: sessionSettings(config, facts), usage } };
    },
    async setModel({ sessionKey }, model) {
      const set = await overrideSession(service, sessionKey, { model });
      if (set.kind === 'refused') return set.message;
      return set.kind === 'done' ? null : 'this session no longer exists';
    },
  };
}
