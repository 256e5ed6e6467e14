// What the configuration says in every system prompt of an agent. Made once per configuration and
// agent: it does not change while a process runs, and must be the same in all of them.
import { createHash, createHmac } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import os from 'node:os';
import { DOCS_PATH, type AgentSettings, type Config } from '../../../config.ts';
import type { AttributedContribution, RuntimeFacts, SystemPromptInput } from '../../../prompt/system-input.ts';
import { given } from '../../../core/json.ts';

/** The part of a system prompt's input that the configuration decides. */
export type AgentFacts = Pick<
  SystemPromptInput,
  | 'agentId'
  | 'workspaceDir'
  | 'timezone'
  | 'defaultModel'
  | 'modelAliases'
  | 'authorizedSenders'
  | 'docs'
  | 'sandbox'
  | 'execSandbox'
  | 'ttsHint'
  | 'hasReasoningTags'
  | 'memoryCitations'
  | 'heartbeatPrompt'
  | 'channelNames'
  | 'contributions'
  | 'isExtraContextDynamic'
>;

const HASH_CHARS = 12;
const DOCS_MAX = 50;
/**
 * The pages of Holdfast's own documentation that help an agent and its user; the others are for who
 * operates or develops it.
 */
const PAGES = new Set(
  'batches cli configuration costs deliveries plugins prompts schedule sessions tools'
    .split(' ')
    .map((page) => `${page}.md`),
);
const TTS_HINT =
  'Replies are read out aloud. Keep them short, in whole sentences, without tables, lists of links or code.';

interface KnownFacts {
  /** What they were made from. */
  sources: readonly unknown[];
  facts: AgentFacts;
}

const factsOfConfig = new WeakMap<Config, Map<string, KnownFacts>>();

/**
 * The facts of the configuration for an agent's prompts; the same object until the configuration is
 * reloaded with other facts.
 */
export function readAgentFacts(config: Config, agent: AgentSettings): AgentFacts {
  let known = factsOfConfig.get(config);
  if (known === undefined) factsOfConfig.set(config, (known = new Map()));
  const { owner, reasoning, memory, channels, docs, tts, heartbeat, sandbox, tools } = config;
  const sources = [agent, owner, reasoning, memory, channels, docs, tts, heartbeat, sandbox, tools];
  const last = known.get(agent.id);
  if (last?.sources.every((source, at) => source === sources[at]) === true) return last.facts;
  const facts = buildFacts(config, agent);
  known.set(agent.id, { sources, facts });
  return facts;
}

/** The machine that this process runs on. */
export const MACHINE: RuntimeFacts = {
  host: os.hostname(),
  os: `${os.type()} ${os.release()}`,
  arch: os.arch(),
  node: process.version,
  // The command with which the exec tool starts a shell.
  shell: existsSync('/bin/bash') ? 'bash' : 'sh',
};

function buildFacts(config: Config, agent: AgentSettings): AgentFacts {
  const { docs, tts, heartbeat, channels, tools } = config;
  return {
    agentId: agent.id,
    workspaceDir: agent.workspaceDir,
    timezone: agent.userTimezone,
    defaultModel: agent.model,
    modelAliases: agent.models,
    authorizedSenders: ownersShown(config),
    hasReasoningTags: config.reasoning.enabled,
    memoryCitations: config.memory.citations,
    channelNames: Object.entries(channels.platforms)
      .filter(([, { enabled = true }]) => enabled)
      .map(([name]) => name)
      .toSorted(),
    contributions: listContributions(agent),
    isExtraContextDynamic: agent.chatContextPlace === 'dynamic',
    ...(docs.enabled ? { docs: { path: docs.path, files: docsIn(docs.path) } } : {}),
    ...given({ ttsHint: tts.enabled ? (tts.hint ?? TTS_HINT) : tools.tts && tts.hint }),
    ...(heartbeat.enabled ? { heartbeatPrompt: agent.heartbeat.prompt } : {}),
    ...pickSandbox(config),
  };
}

/**
 * The Markdown files of a folder, by name, without those that agents have no use for; none when it
 * cannot be read.
 */
function docsIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.md'));
    return files
      .map(({ name }) => name)
      .filter((name) => path !== DOCS_PATH || PAGES.has(name))
      .toSorted()
      .slice(0, DOCS_MAX);
  } catch {
    return [];
  }
}

/** The owners as prompts show them: their ids, or hashes that do not reveal them. */
function ownersShown({ owner }: Config): string[] {
  const { ids, display } = owner;
  return display === 'raw' ? ids : ids.map((id) => hashId(id, owner.displaySecret));
}

function hashId(id: string, secret: string | undefined): string {
  const hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret);
  return hash.update(id).digest('hex').slice(0, HASH_CHARS);
}

function listContributions({ promptContribution }: AgentSettings): AttributedContribution[] {
  const { interactionStyle, toolCallStyle, executionBias } = promptContribution.sectionOverrides;
  const { stablePrefix, dynamicSuffix } = promptContribution;
  return [
    {
      origin: 'configuration',
      ...given({ stablePrefix, dynamicSuffix }),
      sectionOverrides: given({
        interaction_style: interactionStyle,
        tool_call_style: toolCallStyle,
        execution_bias: executionBias,
      }),
    },
  ];
}

/**
 * Only what holds in every worker: with `auto` each decides for itself whether it has a sandbox.
 */
function pickSandbox({ sandbox, tools }: Config): Pick<SystemPromptInput, 'sandbox' | 'execSandbox'> {
  const { enabled, runtime, network, hostMount, workspaceAccess, browserUrl } = sandbox;
  if (runtime !== 'external' && tools.exec.sandbox === 'required') {
    return { execSandbox: { hosts: network === 'none' ? [] : network, isReadOnly: workspaceAccess === 'read-only' } };
  }
  if (!enabled) return {};
  return { sandbox: { workspaceAccess, ...given({ hostMount, browserUrl }) } };
}
