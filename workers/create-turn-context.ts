// Builds what a turn is given in a worker process: the store's shared statements, the locks, the model, the tools.
import type { Clock } from '../src/clock.ts';
import { agentOf, type Config } from '../src/config.ts';
import type { Logger } from '../src/logger.ts';
import type { Model } from '../src/model/model.ts';
import type { Database } from '../src/store/database.ts';
import { createCommitStep } from '../src/store/journal/commit-step.ts';
import { createFinishTurn } from '../src/store/journal/finish-turn.ts';
import { createOpenTurn } from '../src/store/journal/open-turn.ts';
import { createClaim } from '../src/store/claim-session.ts';
import { createRelease } from '../src/store/session-locks.ts';
import type { Tool } from '../src/tools/tool.ts';
import { createToolset, type Toolset } from '../src/tools/toolset.ts';
import type { TurnContext } from '../src/turn/context.ts';
import { DeltaWriter } from '../src/turn/delta-writer.ts';
import { LockKeeper } from '../src/turn/held-session.ts';
import { TranscriptCache } from '../src/turn/transcript-cache.ts';
import type { Wake } from '../src/wake.ts';

export interface WorkerParts {
  config: Config;
  logger: Logger;
  clock: Clock;
  database: Database;
  wake: Wake;
  model: Model;
  tools: readonly Tool[];
  /** Names this process among the owners of locks; never used twice. */
  owner: string;
  isDraining: () => boolean;
}

/** The context of a worker's turns. The lock keeper in it must be started. */
export function createTurnContext(parts: WorkerParts): TurnContext {
  const { config, logger, clock, database, wake } = parts;
  const { leaseMs } = config.runtime;
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
      finishTurn: createFinishTurn(database),
    },
    locks: new LockKeeper({ database, clock, logger, owner: parts.owner, leaseMs }),
    deltas: new DeltaWriter({ database, logger, onWritten: (sessionId) => wake.committed(sessionId, 'progress') }),
    transcripts: new TranscriptCache(),
    model: parts.model,
    toolsetOf: createToolsets(config, parts.tools),
    knownSnapshots: new Set(),
    random: Math.random,
    isDraining: parts.isDraining,
    onCommit: (sessionId, what) => wake.committed(sessionId, what),
  };
}

function createToolsets(config: Config, tools: readonly Tool[]): (agentId: string) => Toolset {
  const toolsets = new Map<string, Toolset>();
  return (agentId) => {
    let toolset = toolsets.get(agentId);
    if (toolset === undefined) {
      toolset = createToolset({ tools, policy: agentOf(config, agentId).toolPolicies });
      toolsets.set(agentId, toolset);
    }
    return toolset;
  };
}
