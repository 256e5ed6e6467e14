// Which models a configuration may name. Without plugins those of the built-in provider and of each provider with an address; with plugins,
// which may serve providers of their own, any `provider/model` at first, and what is really served once they are loaded.
// The operator gets notices about models that their provider ends, and about windows that a model does not have.
import { DEFAULT_PROVIDER, modelOfRef, endOfModel } from '../core/models.ts';
import { agentOf, agentOrFirst, factsOfModel, resolveModelRef, type AgentSettings } from './agent-settings.ts';
import { findClosest } from './find-closest.ts';
import { refuseFaults, type Refuse } from './config-error.ts';
import { listServedProviders, setUpHint } from './providers.ts';
import { mergeOver } from './walk-schema.ts';
import type { AgentDefaults, Config, FileSettings } from './schema.ts';

/** The providers that are known to be served; null: a plugin may serve any. */
export type KnownProviders = readonly string[] | null;

/** The facts about providers that are known before plugins are loaded. */
export function listProviders({ plugins, models }: Pick<FileSettings, 'plugins' | 'models'>): KnownProviders {
  return plugins.modules.length > 0 ? null : [DEFAULT_PROVIDER, ...listServedProviders(models).map(({ name }) => name)];
}

/** Throws `ConfigError` with every model of the configuration that none of these providers serves. */
export function checkServedModels(config: Config, providers: readonly string[]): void {
  refuseFaults((refuse) => checkModels(config, providers, refuse));
}

/** The settings of all agents with their path, and those of each that has some of its own: the others cannot be at fault. */
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

/** Refuses what names no model among those of pictures and sounds: they are asked through the packages of the AI SDK, `image` as agents ask theirs. */
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

/** Refuses what names no model among the crons of the file; an alias is one of the agent that a cron is for. */
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

// What is set for a session, a message, a cron or a subagent is checked before it is stored, so that no turn is opened only to fail. A process
// that loads no plugins cannot know which providers they serve: it lets any `provider/model` pass, and the turn decides.

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
 * Why an agent cannot be asked to use a model, given as `provider/model` or as an alias; null: it can, or it is not known that it cannot.
 * An agent that the configuration does not list is judged as the first one.
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

// Notices for the operator about the configured models: which of them their provider ends, and when, and whether a window is
// set that a model does not have. Holdfast still asks them; the start lines and the doctor show the notices.

/** One sentence or two for each model that needs attention. `today` is a day as YYYY-MM-DD. */
export function modelNotices(config: Config, today: string): string[] {
  const ends = [...namedModels(config)].flatMap(([ref, named]) => {
    const end = endOfModel(ref, today);
    return end === null ? [] : [`${end} It is the model of ${named.join(', ')}.`];
  });
  const agents = config.agents.list.map(({ id }) => agentOf(config, id));
  return [...ends, ...agents.flatMap((agent) => windowNotice(config, agent))];
}

/** The models that the configuration names, each with the places that do: `agent "main"`, `the cron "report"`. */
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
