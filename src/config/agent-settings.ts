// The settings that hold for an agent, a session and a channel, with what is set for each over what
// the configuration says of all.
import { join } from 'node:path';
import { HOST_TIMEZONE } from '../clock.ts';
import { catalogueRow, type ModelFacts } from '../core/models.ts';
import { reachesAgent, type Scope } from '../core/scope.ts';
import type { ExternalTool, ToolPolicy } from '../core/tool-policy.ts';
import { deepFreeze, mergeOver } from '../core/json.ts';
import { resolveEnvelopeZone } from '../prompt/envelope-time.ts';
import type { AgentDefaults, AgentEntry, Config } from './schema.ts';
import type { QueueDrop, QueueMode } from '../core/queue-mode.ts';
import { toReasoning, type ReasoningLevel } from '../core/reply.ts';
import { CHANNEL_ADAPTERS, FILE_BYTES_MAX } from './schema-channels.ts';

/**
 * What `agentOf` answers: the defaults with the agent's own settings over them. `model` is resolved
 * to `provider/model`.
 */
export interface AgentSettings extends AgentDefaults {
  id: string;
  /** Absolute; not necessarily existing yet. */
  workspaceDir: string;
  /**
   * The policy of all agents and that of this one, and in a turn those of its inputs: a tool must
   * pass all of them.
   */
  toolPolicies: readonly ToolPolicy[];
  /** In a turn, those of its inputs that another program runs; absent: none. */
  externalTools?: readonly ExternalTool[];
}

/** An agent id that the configuration does not list. */
export class UnknownAgentError extends Error {
  readonly code = 'unknown_agent';
  readonly agentId: string;

  constructor(agentId: string, known: readonly string[]) {
    super(`the agent ${JSON.stringify(agentId)} does not exist; known: ${known.join(', ')}`);
    this.name = 'UnknownAgentError';
    this.agentId = agentId;
  }
}

type Source = Pick<Config, 'agents' | 'workspace' | 'tools'>;

/**
 * Made once for each configuration, by its section `agents`: a configuration that is read again may
 * have another one.
 */
const settingsOfAgents = new WeakMap<Config['agents'], { source: Source; all: ReadonlyMap<string, AgentSettings> }>();

/**
 * True when the configuration lists the agent: check this before `agentOf` if the id comes from
 * outside.
 */
export function isAgent(config: Config, agentId: string): boolean {
  return resolveAll(config).has(agentId);
}

/**
 * The merged, frozen settings of an agent; the same object at every call. Throws
 * `UnknownAgentError`.
 */
export function agentOf(config: Config, agentId: string): AgentSettings {
  const all = resolveAll(config);
  const settings = all.get(agentId);
  if (settings === undefined) throw new UnknownAgentError(agentId, [...all.keys()]);
  return settings;
}

/**
 * The settings of an agent; those of the first one for an agent that the configuration no longer
 * lists.
 */
export function agentOrFirst(config: Config, agentId: string): AgentSettings {
  return agentOf(config, isAgent(config, agentId) ? agentId : (config.agents.list[0]?.id ?? 'main'));
}

/** The agents that a caller may use: those of which its scope has something. */
export function reachableAgents(config: Config, scope: Scope): string[] {
  return config.agents.list.map(({ id }) => id).filter((id) => reachesAgent(scope, id));
}

/** The agent of a request that names none: `main`, or the first that the caller may use. */
export function defaultAgentOf(config: Config, scope: Scope): string {
  const ids = reachableAgents(config, scope);
  return ids.includes('main') ? 'main' : (ids[0] ?? 'main');
}

/** `provider/model` of a name that may be an alias of the agent; null when it is neither. */
export function resolveModelRef(agent: AgentSettings, name: string): string | null {
  if (Object.hasOwn(agent.models, name)) return agent.models[name] ?? null;
  return /^[^/\s]+\/\S+$/.test(name) ? name : null;
}

/** What is known of a model, given as `provider/model`; null: nothing. */
export function factsOfModel({ models }: Pick<Config, 'models'>, ref: string): ModelFacts | null {
  return catalogueRow(models.catalogue, ref);
}

function resolveAll(config: Config): ReadonlyMap<string, AgentSettings> {
  const { agents, workspace, tools } = config;
  const known = settingsOfAgents.get(agents);
  if (known?.source.workspace === workspace && known.source.tools === tools) return known.all;
  const source = { agents, workspace, tools };
  const all = new Map(agents.list.map((entry) => [entry.id, resolveSettings(source, entry)]));
  settingsOfAgents.set(agents, { source, all });
  return all;
}

function resolveSettings(config: Source, entry: AgentEntry): AgentSettings {
  const { id, workspace, tools, ...own } = entry;
  const merged = mergeOver(config.agents.defaults, own);
  return deepFreeze({
    ...merged,
    model: merged.models[merged.model] ?? merged.model,
    id,
    // Agents share a folder only if configured to: the first uses the workspace itself, the others
    // have a folder below it.
    workspaceDir:
      workspace ?? (id === 'main' ? config.workspace.path : join(config.workspace.path, '..', `workspace-${id}`)),
    toolPolicies: [config.tools, ...(tools === undefined ? [] : [tools])].map(toToolPolicy),
  });
}

function toToolPolicy({ allow, deny = [] }: ToolPolicy): ToolPolicy {
  return allow === undefined ? { deny } : { allow, deny };
}

// What holds for a session and where it comes from: its own override, its channel, or the
// configuration of its agent. A message may still say otherwise for its own turn.

/** The overrides of a session, as its row has them; null: none. */
export interface SessionOverrides {
  agentId: string;
  channel: string | null;
  model: string | null;
  thinking: string | null;
  reasoning: string | null;
  queueMode: string | null;
  queueDebounceMs: number | null;
  queueCap: number | null;
  queueDrop: string | null;
}

export interface SourcedValue<Value> {
  value: Value;
  source: 'session' | 'channel' | 'default';
}

export interface SessionSettings {
  /** `provider/model`, or the name as it is when it is no longer an alias. */
  model: SourcedValue<string>;
  thinking: SourcedValue<string>;
  reasoning: ReasoningLevel;
  queueMode: SourcedValue<string>;
  queueDebounceMs: number;
  queueCap: number;
  queueDrop: string;
}

/**
 * The settings of a session; absent overrides: it does not exist yet. An agent that the
 * configuration does not list has those of the first one.
 */
export function sessionSettings(
  config: Config,
  session: Partial<SessionOverrides> & Pick<SessionOverrides, 'agentId'>,
): SessionSettings {
  const { queue } = config.messages;
  const agent = agentOrFirst(config, session.agentId);
  const model = sourced(session.model, agent.model);
  const { channel = null, queueMode = null } = session;
  const ofChannel: QueueMode | undefined =
    channel !== null && Object.hasOwn(queue.byChannel, channel) ? queue.byChannel[channel] : undefined;
  const drop: QueueDrop = queue.drop;
  return {
    model: { ...model, value: resolveModelRef(agent, model.value) ?? model.value },
    thinking: sourced(session.thinking, agent.thinking),
    reasoning: toReasoning(session.reasoning ?? null),
    queueMode:
      queueMode === null && ofChannel !== undefined
        ? { value: ofChannel, source: 'channel' }
        : sourced(queueMode, queue.mode),
    queueDebounceMs: session.queueDebounceMs ?? queue.debounceMs,
    queueCap: session.queueCap ?? queue.cap,
    queueDrop: session.queueDrop ?? drop,
  };
}

function sourced(own: string | null | undefined, byDefault: string): SourcedValue<string> {
  return own == null ? { value: byDefault, source: 'default' } : { value: own, source: 'session' };
}

// What an agent's messages on a channel can have in addition to text. Prompts, the schema of the
// `message` tool and what it lets through are all decided from this, so none of them offers what
// another refuses.

export interface MessageFeatures {
  /** Files can be sent. */
  media: boolean;
  /** Messages can be reacted to. */
  reactions: boolean;
}

/** The platforms whose channels take reactions without saying so among their capabilities. */
const REACTING_CHANNELS: ReadonlySet<string> = new Set(['telegram', 'signal']);

type Parts = Pick<Config, 'channels' | 'reactions'>;

/** What the configuration says that a channel supports, else what its adapter does. */
export function capabilitiesOf({ channels }: Pick<Config, 'channels'>, channel: string): readonly string[] {
  const { capabilities, adapter = '' } = channels.platforms[channel] ?? {};
  return capabilities ?? CHANNEL_ADAPTERS[adapter]?.capabilities ?? [];
}

/** The largest file that a message on a channel can have. */
export function fileBytesMaxOf({ channels }: Pick<Config, 'channels'>, channel: string): number {
  const { adapter = '' } = channels.platforms[channel] ?? {};
  return CHANNEL_ADAPTERS[adapter]?.fileBytesMax ?? FILE_BYTES_MAX;
}

/** How freely an agent reacts on a channel; `off`: it cannot. */
export function chooseReactionMode(config: Parts, channel: string): Config['reactions']['mode'] {
  const canReact = REACTING_CHANNELS.has(channel) || capabilitiesOf(config, channel).includes('reactions');
  return config.channels.platforms[channel]?.reactions ?? (canReact ? config.reactions.mode : 'off');
}

export function chooseMessageFeatures(config: Parts, channel: string): MessageFeatures {
  return {
    media: capabilitiesOf(config, channel).includes('media'),
    reactions: chooseReactionMode(config, channel) !== 'off',
  };
}

/** The time zone of the times in an agent's prompts. */
export function pickPromptZone({ envelopeTimezone, userTimezone }: AgentSettings) {
  return resolveEnvelopeZone(envelopeTimezone, { userTimezone, hostTimezone: HOST_TIMEZONE });
}
