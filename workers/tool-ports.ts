// Builds what the tools of a worker need of the database and the queue: the outbox, the keeper of commands in the background. The caller starts and stops the keeper.
import { join } from 'node:path';
import type { Clock } from '../src/clock.ts';
import { addressOfChat } from '../src/config/resolve-chat.ts';
import { agentOrFirst, processEnvironment } from '../src/config.ts';
import { chooseMessageFeatures, fileBytesMaxOf } from '../src/config/message-features.ts';
import { outgoingFolder } from '../src/files/copies.ts';
import { sessionSettings } from '../src/config/session-settings.ts';
import type { Logger } from '../src/logger.ts';
import { overrideSession } from '../src/kernel/use-cases/reach-session.ts';
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

export interface ToolPortParts {
  service: Service;
  logger: Logger;
  /** Names this process among the owners of commands; never used twice. */
  owner: string;
  /** Of plugins; absent: none. */
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

/** Serves the `session_status` tool: the session's row and figures, and the one override that an agent may set for its own session. */
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
