// Which models can be asked, as far as this process knows: what is set for a session, a message, a cron or a subagent is checked here before
// it is stored, so that no turn is opened only to fail. A process that loads no plugins cannot know which providers they serve; with
// plugins configured it lets any `provider/model` pass, and the turn decides.
import { agentOrFirst, modelRefOf } from './agent-settings.ts';
import { isModelRef, modelRefText, providersOf, type KnownProviders } from './check-models.ts';
import type { Config } from './schema.ts';

/** Owned by this file: written once, when the plugins of a process are loaded. */
const servedBy = new WeakMap<Config, readonly string[]>();

/** Notes the providers that are served in this process. For the loader of plugins. */
export function noteServedProviders(config: Config, providers: readonly string[]): void {
  servedBy.set(config, providers);
}

function servedProviders(config: Config): KnownProviders {
  return servedBy.get(config) ?? providersOf(config);
}

/**
 * Why an agent cannot be asked to use a model, given as `provider/model` or as an alias; null: it can, or it is not known that it cannot.
 * An agent that the configuration does not list is judged as the first one.
 */
export function modelFault(config: Config, agentId: string, name: string): string | null {
  const agent = agentOrFirst(config, agentId);
  const providers = servedProviders(config);
  const ref = modelRefOf(agent, name);
  if (ref !== null && isModelRef(ref, providers)) return null;
  const aliases = Object.keys(agent.models);
  const or = aliases.length === 0 ? '' : `, or an alias: ${aliases.join(', ')}`;
  return `no provider serves the model ${JSON.stringify(name)}; use ${modelRefText(providers)}${or}`;
}
