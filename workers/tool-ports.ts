// Builds what the tools of a worker need of the database and the queue: the index of memories, the outbox, the keeper of commands in the
// background. The caller starts and stops the keeper.
import { join } from 'node:path';
import { processEnvironment } from '../src/config.ts';
import { messageFeaturesOf } from '../src/config/message-features.ts';
import type { Logger } from '../src/logger.ts';
import { postMessage } from '../src/service/post-message.ts';
import type { Service } from '../src/service/service.ts';
import { indexMemory, searchMemory } from '../src/store/memory-index.ts';
import { createProcessStore } from '../src/store/processes.ts';
import { readTurnChat } from '../src/store/send-message.ts';
import type { CoreToolOptions } from '../src/tools/core-tools.ts';
import type { MessageToolOptions } from '../src/tools/message-tool.ts';
import { planAllCommands } from '../src/tools/command-user.ts';
import { ProcessKeeper } from '../src/tools/process-keeper.ts';

export interface ToolPortParts {
  service: Service;
  logger: Logger;
  /** Names this process among the owners of commands; never used twice. */
  owner: string;
}

export interface ToolPorts {
  options: Pick<CoreToolOptions, 'exec' | 'process' | 'memory' | 'webFetch' | 'message'>;
  /** Null where no command may be run. */
  keeper: ProcessKeeper | null;
}

/** The ports that the configuration enables: disabled ones are absent. */
export function createToolPorts(parts: ToolPortParts): ToolPorts {
  const { config, database } = parts.service;
  const { fetch, message } = config.tools;
  const { keeper, exec, process } = commandPorts(parts);
  return {
    keeper,
    options: {
      exec,
      process,
      memory: {
        search: (search) => searchMemory(database, search),
        add: (addition) => indexMemory(database, addition),
      },
      webFetch: fetch.enabled ? fetch : undefined,
      message: message.enabled ? messagePort(parts.service) : undefined,
    },
  };
}

function commandPorts({ service: { config, database }, logger, owner }: ToolPortParts) {
  const { exec } = config.tools;
  if (!exec.enabled) return { keeper: null, exec: undefined, process: undefined };
  const { dataDir, leaseMs } = config.runtime;
  const store = createProcessStore(database);
  // Decided once: later changes on the disk must not change the user of commands.
  const users = new Map(planAllCommands(config).map(({ workspaceDir, user }) => [workspaceDir, user]));
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
    process: { store, keeper, dataDir },
    exec: {
      timeoutSeconds: exec.timeoutSeconds,
      environment: processEnvironment(),
      userOf: (workspaceDir: string) => users.get(workspaceDir) ?? null,
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
    },
    featuresOf: (channel) => messageFeaturesOf(config, channel),
    mediaRoots: [join(config.runtime.dataDir, 'media'), ...config.images.roots],
    chat: (call) => readTurnChat(database, call),
    post: (message) => postMessage(service, message),
  };
}
