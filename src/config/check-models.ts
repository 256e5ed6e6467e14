// Which models a configuration may name. Without plugins those of the built-in provider and of each provider with an address; with plugins,
// which may serve providers of their own, any `provider/model` at first, and what is really served once they are loaded.
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import { closestOf } from './closest.ts';
import { ConfigError, type ConfigIssue } from './config-error.ts';
import type { AgentDefaults, Config, FileSettings } from './schema.ts';
import { mergeOver } from './merge-over.ts';

/** Receives a fault: its path, its value, and what is allowed. */
export type Refuse = (path: string, value: unknown, allowed: string) => void;

/** The providers that are known to be served; null: a plugin may serve any. */
export type KnownProviders = readonly string[] | null;

/** The facts about providers that are known before plugins are loaded. */
export function providersOf({ plugins, models }: Pick<FileSettings, 'plugins' | 'models'>): KnownProviders {
  return plugins.modules.length > 0 ? null : [DEFAULT_PROVIDER, ...addressedProviders(models)];
}

/** The providers beside the built-in one that have an address. */
export function addressedProviders({ providers }: FileSettings['models']): string[] {
  const others = Object.keys(providers).filter((name) => name !== DEFAULT_PROVIDER);
  return others.filter((name) => providers[name]?.baseUrl !== undefined);
}

/** Throws `ConfigError` with every model of the configuration that none of these providers serves. */
export function checkServedModels(config: Config, providers: readonly string[]): void {
  const { agents } = config;
  const issues: ConfigIssue[] = [];
  const refuse: Refuse = (path, value, allowed) => {
    issues.push({ path, value, allowed, message: `is ${JSON.stringify(value)}; allowed: ${allowed}` });
  };
  checkModels('agents.defaults', agents.defaults, { providers, refuse });
  for (const [at, { id: _id, workspace: _workspace, tools: _tools, ...own }] of agents.list.entries()) {
    if (Object.keys(own).length === 0) continue;
    checkModels(`agents.list[${at}]`, mergeOver(agents.defaults, own), { providers, refuse });
  }
  checkCronModels(config, { providers, refuse });
  if (issues.length > 0) throw new ConfigError(issues);
}

/** Refuses what names no model among the models of an agent. */
export function checkModels(
  path: string,
  agent: AgentDefaults,
  { providers, refuse }: { providers: KnownProviders; refuse: Refuse },
): void {
  for (const [alias, ref] of Object.entries(agent.models)) {
    if (!isModelRef(ref, providers)) refuse(`${path}.models.${alias}`, ref, modelRefText(providers));
  }
  const models = {
    model: agent.model,
    'compaction.model': agent.compaction.model,
    'subagents.model': agent.subagents.model,
    ...Object.fromEntries(agent.fallbacks.map((name, at) => [`fallbacks[${at}]`, name])),
  };
  for (const [key, name] of Object.entries(models)) {
    if (name === undefined || Object.hasOwn(agent.models, name) || isModelRef(name, providers)) continue;
    const close = closestOf(name, Object.keys(agent.models));
    refuse(
      `${path}.${key}`,
      name,
      `${modelRefText(providers)}, or an alias of "models"${close === undefined ? '' : ` (did you mean "${close}"?)`}`,
    );
  }
}

/** Refuses what names no model among the crons of the file; an alias is one of the agent that a cron is for. */
export function checkCronModels(
  { cron, agents }: Pick<FileSettings, 'cron' | 'agents'>,
  { providers, refuse }: { providers: KnownProviders; refuse: Refuse },
): void {
  for (const [at, { agentId, payload }] of cron.jobs.entries()) {
    if (payload.kind !== 'agentTurn' || payload.model === undefined) continue;
    const own = agents.list.find(({ id }) => id === (agentId ?? agents.list[0]?.id));
    const ref = own?.models?.[payload.model] ?? agents.defaults.models[payload.model] ?? payload.model;
    if (isModelRef(ref, providers)) continue;
    refuse(`cron.jobs[${at}].payload.model`, payload.model, `${modelRefText(providers)}, or an alias of the agent`);
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
