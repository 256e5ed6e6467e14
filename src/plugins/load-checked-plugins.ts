// The plugins of a configuration, and with them the faults that only show once they are loaded:
// models that no provider serves and tools that do not exist.
import {
  checkKnownTools,
  checkServedModels,
  listServedProviders,
  noteAddedTools,
  noteServedProviders,
  type Config,
} from '../config.ts';
import { DEFAULT_PROVIDER } from '../core/models.ts';
import type { Logger } from '../logger.ts';
import { loadPlugins } from './load-plugins.ts';
import type { PluginInbox } from './plugin-inbox.ts';
import type { Plugins } from './plugins.ts';

/**
 * Loads the plugins; without an inbox they can queue nothing. Throws `PluginError`, or
 * `ConfigError` with every name that neither they nor Holdfast know.
 */
export async function loadCheckedPlugins(config: Config, logger: Logger, inbox?: PluginInbox): Promise<Plugins> {
  const plugins = await loadPlugins(config.plugins, { logger, cwd: process.cwd(), inbox });
  const providers = servedProviders(config, plugins);
  checkServedModels(config, providers);
  noteServedProviders(config, providers);
  checkKnownTools(config, listToolNames(plugins));
  noteAddedTools(config, listToolNames(plugins));
  return plugins;
}

/** The providers that are served with this configuration and these plugins. */
export function servedProviders({ models }: Config, { transports }: Plugins): string[] {
  const ofPlugins = transports.map(({ provider }) => provider);
  return [...new Set([...ofPlugins, DEFAULT_PROVIDER, ...listServedProviders(models).map(({ name }) => name)])];
}

export function listToolNames({ tools }: Plugins): string[] {
  return tools.map(({ spec }) => spec.name);
}
