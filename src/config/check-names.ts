// Which models, tools, agents and chats a configuration may name, and what a session, a message, a
// cron or a subagent may. Plugins may serve models and add tools of their own: until they are
// loaded, any name passes that one of them may mean, and afterwards each is checked.
import { DEFAULT_PROVIDER, modelOfRef, endOfModel } from '../core/models.ts';
import { agentOf, agentOrFirst, factsOfModel, resolveModelRef, type AgentSettings } from './agent-settings.ts';
import { findClosest, hintFor, refuseFaults, type Refuse, collectFaults } from './config-error.ts';
import { listServedProviders, setUpHint } from './providers.ts';
import type { DeepPartial } from './schema-scalars.ts';
import { mergeOver } from '../core/json.ts';
import type { AgentDefaults, Config, FileSettings } from './schema.ts';
import { type ExternalTool, BUILT_IN_TOOLS, type ToolPolicy } from '../core/tool-policy.ts';
import { indexOfRival } from '../features/channels/rules/bindings.ts';

/** The providers that are known to be served; null: a plugin may serve any. */
export type KnownProviders = readonly string[] | null;

/** The facts about providers that are known before plugins are loaded. */
export function listProviders({ plugins, models }: Pick<FileSettings, 'plugins' | 'models'>): KnownProviders {
  return plugins.modules.length > 0 ? null : [DEFAULT_PROVIDER, ...listServedProviders(models).map(({ name }) => name)];
}

/**
 * Throws `ConfigError` with every model of the configuration that none of these providers serves.
 */
export function checkServedModels(config: Config, providers: readonly string[]): void {
  refuseFaults((refuse) => checkModels(config, providers, refuse));
}

/**
 * The settings of all agents with their path, and those of each that has some of its own: the
 * others cannot be at fault.
 */
export function writtenAgents({ agents }: Pick<FileSettings, 'agents'>): [path: string, agent: AgentDefaults][] {
  const own = agents.list.flatMap(({ id: _id, workspace: _workspace, tools: _tools, ...settings }, at) =>
    Object.keys(settings).length === 0
      ? []
      : [[`agents.list[${at}]`, mergeOver(agents.defaults, settings)] as [string, AgentDefaults]],
  );
  return [['agents.defaults', agents.defaults], ...own];
}

/** Refuses what names no model among the models of agents and crons. */
export function checkModels(
  settings: Pick<FileSettings, 'cron' | 'agents' | 'tools' | 'models'>,
  providers: KnownProviders,
  refuse: Refuse,
): void {
  checkMediaModels(settings, { providers, refuse });
  for (const [path, agent] of writtenAgents(settings)) checkAgentModels(path, agent, { providers, refuse });
  checkCronModels(settings, { providers, refuse });
}

/**
 * Refuses what names no model among those of pictures and sounds: they are asked through the
 * packages of the AI SDK, `image` as agents ask theirs.
 */
function checkMediaModels(
  { tools, models }: Pick<FileSettings, 'tools' | 'models'>,
  { providers, refuse }: { providers: KnownProviders; refuse: Refuse },
): void {
  const served = listServedProviders(models).flatMap(({ name, api }) => (api === 'anthropic' ? [] : [name]));
  for (const key of ['image', 'imageGenerate', 'tts', 'transcribe'] as const) {
    const ref = tools[key]?.model;
    const known = key === 'image' ? providers : served;
    if (ref === undefined || isModelRef(ref, known)) continue;
    const allowed =
      known?.length === 0 ? 'a model of a provider with such models, such as "openai/..."' : modelRefText(known);
    refuse(`tools.${key}.model`, ref, `${allowed}${setUpHint(ref)}`);
  }
}

function checkAgentModels(
  path: string,
  agent: AgentDefaults,
  { providers, refuse }: { providers: KnownProviders; refuse: Refuse },
): void {
  for (const [alias, ref] of Object.entries(agent.models)) {
    if (!isModelRef(ref, providers))
      refuse(`${path}.models.${alias}`, ref, `${modelRefText(providers)}${setUpHint(ref)}`);
  }
  const models = {
    model: agent.model,
    'compaction.model': agent.compaction.model,
    'subagents.model': agent.subagents.model,
    ...Object.fromEntries(agent.fallbacks.map((name, at) => [`fallbacks[${at}]`, name])),
  };
  for (const [key, name] of Object.entries(models)) {
    if (name === undefined || Object.hasOwn(agent.models, name) || isModelRef(name, providers)) continue;
    const close = findClosest(name, Object.keys(agent.models));
    refuse(
      `${path}.${key}`,
      name,
      `${modelRefText(providers)}, or an alias of "models"${close === undefined ? '' : ` (did you mean "${close}"?)`}${setUpHint(name)}`,
    );
  }
}

/**
 * Refuses what names no model among the crons of the file; an alias is one of the agent that a cron
 * is for.
 */
function checkCronModels(
  { cron, agents }: Pick<FileSettings, 'cron' | 'agents'>,
  { providers, refuse }: { providers: KnownProviders; refuse: Refuse },
): void {
  for (const [at, { agentId, payload }] of cron.jobs.entries()) {
    if (payload.kind !== 'agentTurn' || payload.model === undefined) continue;
    const own = agents.list.find(({ id }) => id === (agentId ?? agents.list[0]?.id));
    const ref = own?.models?.[payload.model] ?? agents.defaults.models[payload.model] ?? payload.model;
    if (isModelRef(ref, providers)) continue;
    const allowed = `${modelRefText(providers)}, or an alias of the agent${setUpHint(ref)}`;
    refuse(`cron.jobs[${at}].payload.model`, payload.model, allowed);
  }
}

/** True for `provider/model` of one of the providers. */
export function isModelRef(name: string, providers: KnownProviders): boolean {
  const slash = name.indexOf('/');
  const provider = name.slice(0, Math.max(slash, 0));
  return provider !== '' && slash < name.length - 1 && (providers === null || providers.includes(provider));
}

/** How a model is written, for messages: `"anthropic/<model>"`. */
export function modelRefText(providers: KnownProviders): string {
  return (providers ?? ['<provider>']).map((provider) => `"${provider}/<model>"`).join(', ');
}

// What is set for a session, a message, a cron or a subagent is checked before it is stored, so
// that no turn is opened only to fail. A process that loads no plugins cannot know which providers
// they serve: it lets any `provider/model` pass, and the turn decides.

/** Owned by this file: written once, when the plugins of a process are loaded. */
const servedBy = new WeakMap<Config, readonly string[]>();

/** Notes the providers that are served in this process. For the loader of plugins. */
export function noteServedProviders(config: Config, providers: readonly string[]): void {
  servedBy.set(config, providers);
}

function servedProviders(config: Config): KnownProviders {
  return servedBy.get(config) ?? listProviders(config);
}

/**
 * Why an agent cannot be asked to use a model, given as `provider/model` or as an alias; null: it
 * can, or it is not known that it cannot. An agent that the configuration does not list is judged
 * as the first one.
 */
export function modelFault(config: Config, agentId: string, name: string): string | null {
  const agent = agentOrFirst(config, agentId);
  const providers = servedProviders(config);
  const ref = resolveModelRef(agent, name);
  if (ref !== null && isModelRef(ref, providers)) return null;
  const aliases = Object.keys(agent.models);
  const or = aliases.length === 0 ? '' : `, or an alias: ${aliases.join(', ')}`;
  return `no provider serves the model ${JSON.stringify(name)}; use ${modelRefText(providers)}${or}${setUpHint(ref ?? '')}`;
}

// Notices for the operator about the configured models: which of them their provider ends, and
// when, and whether a window is set that a model does not have. Holdfast still asks them; the start
// lines and the doctor show the notices.

/** One sentence or two for each model that needs attention. `today` is a day as YYYY-MM-DD. */
export function modelNotices(config: Config, today: string): string[] {
  const ends = [...namedModels(config)].flatMap(([ref, named]) => {
    const end = endOfModel(ref, today);
    return end === null ? [] : [`${end} It is the model of ${named.join(', ')}.`];
  });
  const agents = config.agents.list.map(({ id }) => agentOf(config, id));
  return [...ends, ...agents.flatMap((agent) => windowNotice(config, agent))];
}

/**
 * The models that the configuration names, each with the places that do: `agent "main"`, `the cron
 * "report"`.
 */
export function namedModels(config: Config): Map<string, string[]> {
  const agents = config.agents.list.map(({ id }) => agentOf(config, id));
  const places = new Map<string, string[]>();
  for (const agent of agents) {
    for (const [place, ref] of listModels(agent)) places.set(ref, [...(places.get(ref) ?? []), place]);
  }
  for (const { name, agentId, payload } of config.cron.jobs) {
    if (!('model' in payload) || payload.model === undefined) continue;
    const agent = agents.find(({ id }) => id === agentId) ?? agents[0];
    const ref = agent === undefined ? null : resolveModelRef(agent, payload.model);
    if (ref !== null) places.set(ref, [...(places.get(ref) ?? []), `the cron "${name}"`]);
  }
  return places;
}

/** The models that an agent asks, with the place that names each. */
function listModels(agent: AgentSettings): [place: string, ref: string][] {
  const { id, model, fallbacks, compaction, subagents, models } = agent;
  const named: [string, string | undefined][] = [
    [`agent "${id}"`, model],
    ...fallbacks.map((name): [string, string] => [`the fallbacks of agent "${id}"`, name]),
    [`compactions of agent "${id}"`, compaction.model],
    [`subagents of agent "${id}"`, subagents.model],
    ...Object.entries(models).map(([alias, ref]): [string, string] => [`the alias "${alias}" of agent "${id}"`, ref]),
  ];
  return named.flatMap(([place, name]): [string, string][] => {
    const ref = name === undefined ? null : resolveModelRef(agent, name);
    return ref === null ? [] : [[place, ref]];
  });
}

function windowNotice({ models }: Config, { id, model: ref, contextTokens }: AgentSettings): string[] {
  const { provider = DEFAULT_PROVIDER, model } = modelOfRef(ref);
  const window = factsOfModel({ models }, `${provider}/${model}`)?.contextTokens ?? null;
  if (window === null || window >= contextTokens) return [];
  return [
    `contextTokens of agent "${id}" is ${contextTokens}, but ${ref} takes ${window}. Lower it, so that transcripts are compacted in time.`,
  ];
}

// Refuses policies that name what does not exist. A misspelt name in `deny` denies nothing, so it
// would leave on what was meant to be off (G30): it stops the start instead. Patterns with `*` may
// match nothing, because tools of plugins come and go.

/** The tools that replace the tools of MCP servers if there are too many. */
const MCP_TOOLS = ['mcp_find', 'mcp_call'];

type PolicySettings = Pick<FileSettings, 'agents' | 'tools' | 'plugins' | 'cron' | 'mcp'>;

/**
 * Throws `ConfigError` with every name of a policy that is none of these tools, nor a built-in one,
 * and every external tool with the name of one.
 */
export function checkKnownTools(config: Config, tools: readonly string[]): void {
  refuseFaults((refuse) => {
    refuseUnknownTools(config, [...BUILT_IN_TOOLS, ...tools], refuse);
    refuseTakenNames(config, [...BUILT_IN_TOOLS, ...tools], refuse);
  });
}

/**
 * Refuses unknown names as far as they can be known before plugins are loaded: with plugins, tools
 * are checked afterwards.
 */
export function checkPolicies(settings: PolicySettings, refuse: Refuse): void {
  if (settings.plugins.modules.length === 0) refuseUnknownTools(settings, BUILT_IN_TOOLS, refuse);
  refuseTakenNames(settings, BUILT_IN_TOOLS, refuse);
  refuseUnknownAgents(settings, refuse);
}

/** Owned by this file: written once, when the plugins of a process are loaded. */
const addedTools = new WeakMap<Config, readonly string[]>();

/** Notes the tools that plugins add in this process. For the loader of plugins. */
export function noteAddedTools(config: Config, tools: readonly string[]): void {
  addedTools.set(config, tools);
}

/**
 * The fault of the policy of a request: a name that no tool has; null: there is none. A process
 * that has not loaded its plugins cannot know which tools they add: with plugins configured it lets
 * any name pass, and a name that no tool has allows and denies nothing.
 */
export function toolPolicyFault(
  config: Config,
  policy: ToolPolicy | undefined,
  externalTools: readonly ExternalTool[] = [],
): { path: string; message: string } | null {
  const added = addedTools.get(config) ?? (config.plugins.modules.length === 0 ? [] : null);
  const names = [...BUILT_IN_TOOLS, ...(added ?? [])];
  const [fault] = collectFaults((refuse) => {
    const taken = [...names, ...config.tools.external.map(({ name }) => name)];
    refuseTakenNames({ mcp: config.mcp, tools: { external: externalTools } }, taken, refuse);
    if (policy === undefined || added === null) return;
    const known = knownTools(config, [...names, ...externalTools.map(({ name }) => name)]);
    refuseUnknownNames({ path: 'tools', policy }, known, refuse);
  });
  if (fault === undefined) return null;
  return { path: fault.path, message: `expected ${fault.allowed}, got ${JSON.stringify(fault.value)}` };
}

/**
 * Refuses external tools with the name that another tool has, or that a tool of an MCP server may
 * have.
 */
function refuseTakenNames(
  { tools, mcp }: { tools: { external: readonly Pick<ExternalTool, 'name'>[] }; mcp: { servers: object } },
  taken: readonly string[],
  refuse: Refuse,
): void {
  const folded = new Set([...taken, ...MCP_TOOLS].map((name) => name.toLowerCase()));
  const prefixes = Object.keys(mcp.servers).map((server) => `${server}__`.toLowerCase());
  for (const [at, { name }] of tools.external.entries()) {
    const written = name.toLowerCase();
    if (folded.has(written) || prefixes.some((prefix) => written.startsWith(prefix)))
      refuse(`tools.external[${at}].name`, name, 'a name that no other tool has (letter case aside)');
  }
}

interface KnownTools {
  names: readonly string[];
  /**
   * Any name that begins with one of these may be a tool: which there are, an MCP server says
   * later.
   */
  prefixes: readonly string[];
}

function knownTools({ mcp, tools }: Pick<PolicySettings, 'mcp' | 'tools'>, own: readonly string[]): KnownTools {
  const names = [...own, ...tools.external.map(({ name }) => name)];
  return { names, prefixes: Object.keys(mcp.servers).map((server) => `${server}__`.toLowerCase()) };
}

function refuseUnknownTools(settings: PolicySettings, names: readonly string[], refuse: Refuse): void {
  const { tools, agents, cron } = settings;
  const known = knownTools(settings, names);
  const policies = [
    { path: 'tools', policy: tools },
    ...agents.list.map((agent, at) => ({ path: `agents.list[${at}].tools`, policy: agent.tools ?? {} })),
    ...cron.jobs.map((job, at) => ({ path: `cron.jobs[${at}].tools`, policy: job.tools ?? {} })),
  ];
  for (const policy of policies) refuseUnknownNames(policy, known, refuse);
}

function refuseUnknownNames(
  { path, policy }: { path: string; policy: DeepPartial<ToolPolicy> },
  { names, prefixes }: KnownTools,
  refuse: Refuse,
): void {
  const folded = new Set(names.map((name) => name.toLowerCase()));
  for (const list of ['allow', 'deny'] as const) {
    for (const [at, name] of (policy[list] ?? []).entries()) {
      const written = name.toLowerCase();
      if (name.includes('*') || folded.has(written) || prefixes.some((prefix) => written.startsWith(prefix))) continue;
      refuse(`${path}.${list}[${at}]`, name, `the name of a tool or a pattern with "*" (${hintFor(name, names)})`);
    }
  }
}

function refuseUnknownAgents({ tools, agents }: PolicySettings, refuse: Refuse): void {
  const ids = agents.list.map(({ id }) => id);
  const lists = [
    { path: 'agents.defaults.subagents.allowAgents', names: agents.defaults.subagents.allowAgents },
    ...agents.list.map(({ subagents }, at) => ({
      path: `agents.list[${at}].subagents.allowAgents`,
      names: subagents?.allowAgents ?? [],
    })),
    { path: 'tools.agentToAgent.allow', names: tools.agentToAgent.allow },
  ];
  for (const { path, names } of lists) {
    for (const [at, name] of names.entries()) {
      if (name === '*' || ids.includes(name)) continue;
      refuse(`${path}[${at}]`, name, `"*" or the id of an agent (${hintFor(name, ids)})`);
    }
  }
}

// Refuses bindings that name what does not exist or that contradict each other: a message would go
// to another agent than was meant. Refuses what is no id in lists of ids: a person would be let in
// by a name that anyone can take.

/** Names that are part of addresses as they are. */
const ADDRESSED = /^[\w.-]+$/;

/**
 * Ids of a platform never begin with these: they mark user names and names of channels, and stand
 * for all.
 */
const NAME = /^[@#*]/;

/** Refuses what is wrong in `bindings` and in the lists of ids of `channels`. */
export function checkChannels({ channels, agents, bindings }: FileSettings, refuse: Refuse): void {
  const { platforms } = channels;
  const agentIds = agents.list.map(({ id }) => id);
  for (const [at, { agent, match }] of bindings.entries()) {
    const { channel, accountId, guild, team } = match;
    const path = `bindings[${at}]`;
    if (!agentIds.includes(agent)) refuse(`${path}.agent`, agent, `the id of an agent (${hintFor(agent, agentIds)})`);
    const isKnown = channel === undefined || Object.hasOwn(platforms, channel);
    if (!isKnown)
      refuse(`${path}.match.channel`, channel, `a key below "channels" (${hintFor(channel, Object.keys(platforms))})`);
    const possible = channel === undefined ? Object.values(platforms) : [platforms[channel]];
    const accounts = possible.flatMap((each) => Object.keys(each?.accounts ?? {}));
    if (isKnown && accountId !== undefined && !accounts.includes(accountId))
      refuse(`${path}.match.accountId`, accountId, `the name of an account (${hintFor(accountId, accounts)})`);
    if (guild !== undefined && team !== undefined)
      refuse(`${path}.match`, match, 'guild (Discord) or team (Slack): no chat has both');
    const rival = indexOfRival(bindings, at);
    if (rival >= 0 && rival < at)
      refuse(path, bindings[at], `another match than that of bindings[${rival}], which names another agent`);
  }
  for (const [channel, { adapter, accounts = {} }] of Object.entries(platforms))
    for (const [account, settings] of Object.entries(accounts)) {
      const named = [
        [`channels.${channel}`, channel],
        [`channels.${channel}.accounts.${account}`, account],
      ] as const;
      for (const [path, name] of named)
        if (adapter !== undefined && !ADDRESSED.test(name))
          refuse(path, name, 'a name of letters, digits, ".", "_" and "-": it is part of the addresses of chats');
      for (const list of ['allowFrom', 'groupAllow'] as const)
        for (const [at, id] of settings[list].entries())
          if (NAME.test(id))
            refuse(
              `channels.${channel}.accounts.${account}.${list}[${at}]`,
              id,
              'an id of the platform, such as 123456789 or U0123ABCD; names can be changed by their bearers, and "open" as the policy lets everybody in',
            );
    }
}
