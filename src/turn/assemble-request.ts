// Assembles what stays the same through a turn: system prompt, tools, model. Pure but for the workspace's files, which are read
// through a short cache. Equal inputs give equal bytes, so that the provider's prompt cache holds (and a retry sends the same).
import { createHash } from 'node:crypto';
import os from 'node:os';
import { modelRefOf, type AgentSettings, type ThinkingLevel } from '../config.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { channelOf } from '../core/inbound.ts';
import type { SystemBlock } from '../core/model-request.ts';
import { promptModeOf } from '../core/prompt/prompt-mode.ts';
import { systemBlocks } from '../core/prompt/system-blocks.ts';
import type { InboundMeta, RuntimeFacts } from '../core/prompt/system-input.ts';
import { buildSystemPrompt } from '../core/prompt/system-prompt.ts';
import type { SessionKind } from '../core/session-key.ts';
import { tokenLimits } from '../core/thinking-budget.ts';
import type { ClaimedSession } from '../store/claim-session.ts';
import type { Toolset } from '../tools/toolset.ts';
import type { RequestBase, TurnContext } from './context.ts';
import { loadWorkspaceFiles } from './load-workspace.ts';
import { TurnFailed } from './turn-end.ts';

/** What the session and its message say about the model. */
export interface RequestChoices {
  session: ClaimedSession;
  agent: AgentSettings;
  toolset: Toolset;
  /** The last of the inputs, when they are messages. */
  message: InboundMessage | null;
  thinking: ThinkingLevel;
}

const RUNTIME: RuntimeFacts = {
  host: os.hostname(),
  os: `${os.type()} ${os.release()}`,
  arch: os.arch(),
  node: process.version,
};

/** Builds the unchanging part of a turn's requests. Throws `TurnFailed` for a model that cannot be used. */
export async function assembleRequest(context: TurnContext, choices: RequestChoices): Promise<RequestBase> {
  const { agent, toolset } = choices;
  const model = modelOf(choices);
  const prompt = buildSystemPrompt({
    mode: promptModeOf(choices.session.kind as SessionKind, agent.promptMode),
    agentId: agent.id,
    tools: toolset.tools.map((tool) => ({ name: tool.spec.name, summary: tool.summary })),
    workspaceDir: agent.workspaceDir,
    files: await loadWorkspaceFiles(agent.workspaceDir, context.config.workspace.bootstrapFiles),
    fileLimits: { charsPerFileMax: agent.bootstrapMaxChars, charsTotalMax: agent.bootstrapTotalMaxChars },
    timezone: agent.userTimezone,
    model,
    defaultModel: agent.model,
    thinking: choices.thinking,
    modelAliases: agent.models,
    runtime: RUNTIME,
    ...inboundParts(choices.message),
  });
  return {
    model: model.slice('anthropic/'.length),
    ...tokenLimits(choices.thinking),
    system: systemBlocks(prompt),
    tools: toolset.specs,
  };
}

/** A part of a request as it is kept: JSON text under the hash of its bytes. */
export interface Snapshot {
  sha256: string;
  content: string;
}

export function snapshotOf(part: SystemBlock[] | RequestBase['tools']): Snapshot {
  const known = snapshots.get(part);
  if (known !== undefined) return known;
  const content = JSON.stringify(part);
  const snapshot = { sha256: createHash('sha256').update(content).digest('hex'), content };
  snapshots.set(part, snapshot);
  return snapshot;
}

/** Toolsets are the same objects from turn to turn. */
const snapshots = new WeakMap<object, Snapshot>();

function modelOf({ agent, session, message }: RequestChoices): string {
  const wanted = message?.model ?? session.model ?? agent.model;
  const model = modelRefOf(agent, wanted);
  if (model?.startsWith('anthropic/')) return model;
  throw new TurnFailed(
    'unknown_model',
    `There is no model "${wanted}": use anthropic/<model> or an alias of agents.defaults.models.`,
  );
}

function inboundParts(message: InboundMessage | null): {
  channel?: string;
  inbound?: InboundMeta;
  groupSystemPrompt?: string;
} {
  if (message === null) return {};
  const { chatId, provider, surface, chatType = 'direct', groupSystemPrompt } = message;
  const channel = channelOf(message);
  return {
    channel,
    inbound: {
      channel,
      chatType,
      ...(chatId === undefined ? {} : { chatId }),
      ...(provider === undefined ? {} : { provider }),
      ...(surface === undefined ? {} : { surface }),
    },
    ...(groupSystemPrompt === undefined ? {} : { groupSystemPrompt }),
  };
}
