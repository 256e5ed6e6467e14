// The settings of one agent: its entry of `agents.list` over the defaults. Made once per configuration and agent, frozen.
import { join } from 'node:path';
import { catalogueRow, type ModelFacts } from '../core/models.ts';
import type { ExternalTool, ToolPolicy } from '../core/tool-policy.ts';
import { deepFreeze, mergeOver } from './walk-schema.ts';
import type { AgentDefaults, AgentEntry, Config } from './schema.ts';

/** What `agentOf` answers: the defaults with the agent's own settings over them. `model` is resolved to `provider/model`. */
export interface AgentSettings extends AgentDefaults {
  id: string;
  /** Absolute; not necessarily existing yet. */
  workspaceDir: string;
  /** The policy of all agents and that of this one, and in a turn those of its inputs: a tool must pass all of them. */
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

/** By the section `agents`: a configuration that is read again may have another one. */
const settingsOfAgents = new WeakMap<Config['agents'], { source: Source; all: ReadonlyMap<string, AgentSettings> }>();

/** True when the configuration lists the agent: check this before `agentOf` if the id comes from outside. */
export function isAgent(config: Config, agentId: string): boolean {
  return resolveAll(config).has(agentId);
}

/** The merged, frozen settings of an agent; the same object at every call. Throws `UnknownAgentError`. */
export function agentOf(config: Config, agentId: string): AgentSettings {
  const all = resolveAll(config);
  const settings = all.get(agentId);
  if (settings === undefined) throw new UnknownAgentError(agentId, [...all.keys()]);
  return settings;
}

/** The settings of an agent; those of the first one for an agent that the configuration no longer lists. */
export function agentOrFirst(config: Config, agentId: string): AgentSettings {
  return agentOf(config, isAgent(config, agentId) ? agentId : (config.agents.list[0]?.id ?? 'main'));
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
    // Agents share a folder only if configured to: the first uses the workspace itself, the others have a folder below
    // it.
    workspaceDir:
      workspace ?? (id === 'main' ? config.workspace.path : join(config.workspace.path, '..', `workspace-${id}`)),
    toolPolicies: [config.tools, ...(tools === undefined ? [] : [tools])].map(toToolPolicy),
  });
}

function toToolPolicy({ allow, deny = [] }: ToolPolicy): ToolPolicy {
  return allow === undefined ? { deny } : { allow, deny };
}
