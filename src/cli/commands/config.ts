// `holdfast config`: what is configured, where each value comes from, and whether it can be used. Secrets are never shown (G31).
import { ConfigError, loadConfigWithSources } from '../../config.ts';
import type { Setting } from '../../config/sources.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import type { Terminal } from '../terminal.ts';

/** Prints every setting; with `sources` also where it comes from. */
export async function runConfigShow(options: { sources?: boolean }, terminal: Terminal): Promise<ExitCode> {
  const { config, settings } = loadOrRefuse(EXIT.configuration);
  if (!options.sources) {
    terminal.json(treeOf(settings));
  } else if (terminal.isJson) {
    terminal.json({ file: config.runtime.configPath, settings });
  } else {
    terminal.note(`file: ${config.runtime.configPath ?? 'none'}`);
    terminal.table<Setting>(
      [
        { title: 'SETTING', value: (row) => row.path },
        { title: 'VALUE', value: (row) => JSON.stringify(row.value) },
        { title: 'SOURCE', value: (row) => row.source, style: (row) => (row.source === 'default' ? 'dim' : 'cyan') },
      ],
      settings,
    );
  }
  return EXIT.ok;
}

/** Says whether the configuration can be used; lists every fault otherwise. */
export async function runConfigValidate(terminal: Terminal): Promise<ExitCode> {
  const { configPath } = loadOrRefuse(EXIT.configuration).config.runtime;
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
    if (!(error instanceof ConfigError)) throw error;
    throw new CliError({
      code: error.code,
      exitCode,
      message: error.message,
      fix: 'correct what is listed, in the file or in the environment, then check with "holdfast config validate"',
      problem: { errors: error.issues.map(({ path, message }) => ({ path, message })) },
      cause: error,
    });
  }
}

/** The settings as one object, each at its path. */
function treeOf(settings: readonly Setting[]): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const { path, value } of settings) {
    const steps = path.split('.');
    const last = steps.pop() ?? path;
    let at = tree;
    for (const step of steps) at = (at[step] ??= {}) as Record<string, unknown>;
    at[last] = value;
  }
  return tree;
}
