// `holdfast config`: the settings, the source of each value, and whether they are valid. Secrets
// are never shown (G31).
import { ConfigError, loadConfigWithSources, secretsOf, type Config, type Setting } from '../../config.ts';
import type { ShownSecret } from '../../config/secrets.ts';
import { createLogger } from '../../logger.ts';
import { EXIT, explainConfigError, type ExitCode } from '../cli-error.ts';
import { explainStartFault } from '../explain-start-fault.ts';
import type { Terminal } from '../terminal.ts';

/** Prints every setting; on request also its source. */
export async function runConfigShow(hasSources: boolean, terminal: Terminal): Promise<ExitCode> {
  const { config, settings: all } = loadOrRefuse(EXIT.configuration);
  const settings = all.filter(isSet);
  if (!hasSources) {
    terminal.json(buildTree(settings));
  } else if (terminal.isJson) {
    terminal.json({ file: config.runtime.configPath, settings });
  } else {
    terminal.note(`file: ${config.runtime.configPath ?? 'none'}`);
    terminal.table<Setting>(
      [
        { title: 'SETTING', value: (row) => row.path },
        { title: 'VALUE', value: (row) => JSON.stringify(row.value) },
        {
          title: 'SOURCE',
          value: (row) => row.at ?? row.source,
          style: (row) => (row.source === 'default' ? 'dim' : 'cyan'),
        },
      ],
      settings,
    );
  }
  return EXIT.ok;
}

/** False for a setting that has no value: neither a given one nor a default. */
function isSet({ value, isSecret }: Setting): boolean {
  return isSecret ? (value as ShownSecret).isSet : value !== null;
}

/** Says whether the configuration can be used; lists every fault otherwise. */
export async function runConfigValidate(terminal: Terminal): Promise<ExitCode> {
  const { config } = loadOrRefuse(EXIT.configuration);
  await checkPlugins(config);
  const { configPath } = config.runtime;
  if (terminal.isJson) terminal.json({ valid: true, file: configPath });
  else
    terminal.print(configPath === null ? 'ok (no configuration file: defaults and environment)' : `${configPath}: ok`);
  return EXIT.ok;
}

/** The configuration; throws a `CliError` with this exit code and every fault. */
export function loadOrRefuse(exitCode: ExitCode): ReturnType<typeof loadConfigWithSources> {
  try {
    return loadConfigWithSources();
  } catch (error) {
    throw error instanceof ConfigError ? explainConfigError(error, exitCode) : error;
  }
}

/**
 * Loads the plugins, because only they say which tools and models there are besides the built-in
 * ones.
 */
async function checkPlugins(config: Config): Promise<void> {
  if (config.plugins.modules.length === 0) return;
  const { loadCheckedPlugins } = await import('../../plugins/load-checked-plugins.ts');
  const { logLevel: level, logFormat: format } = config.runtime;
  const logger = createLogger({ level, format, name: 'cli', secrets: secretsOf(config) });
  try {
    await loadCheckedPlugins(config, logger);
  } catch (error) {
    throw explainStartFault(error, EXIT.configuration);
  }
}

/** The settings as one object, each at its path. */
function buildTree(settings: readonly Setting[]): unknown {
  const tree: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    const steps = path.split(/\.|(?=\[)/);
    let at = tree;
    for (const [n, step] of steps.entries()) {
      const child = steps[n + 1];
      const key = step.replaceAll(/[[\]]/g, '');
      if (child === undefined) at[key] = value;
      // A list is filled by its indices in their order.
      else at = (at[key] ??= child.startsWith('[') ? [] : {}) as Record<string, unknown>;
    }
  }
  return tree;
}
