// Every setting by its path, with where it comes from: what `holdfast config show` prints. Secrets are replaced (G31).
import { showable } from './config-error.ts';
import type { Config } from './config-type.ts';
import type { Environment } from './load-environment.ts';
import type { FileInput } from './schema.ts';

export interface Setting {
  path: string;
  /** As it may be shown: `[secret]` for a secret that is set. */
  value: unknown;
  source: 'default' | 'file' | 'environment';
}

/** Which variable decides which setting. */
const VARIABLES: Record<string, string> = {
  'runtime.databaseUrl': 'DATABASE_URL',
  'runtime.redisUrl': 'REDIS_URL',
  'runtime.configPath': 'HOLDFAST_CONFIG',
  'runtime.dataDir': 'HOLDFAST_DATA_DIR',
  'runtime.host': 'HOLDFAST_HOST',
  'runtime.port': 'HOLDFAST_PORT',
  'runtime.apiKey': 'HOLDFAST_API_KEY',
  'runtime.leaseMs': 'HOLDFAST_LEASE_MS',
  'runtime.reconcileMs': 'HOLDFAST_RECONCILE_MS',
  'runtime.concurrency': 'HOLDFAST_CONCURRENCY',
  'runtime.logLevel': 'HOLDFAST_LOG_LEVEL',
  'runtime.logFormat': 'HOLDFAST_LOG_FORMAT',
  'runtime.anthropicApiKey': 'ANTHROPIC_API_KEY',
  'runtime.anthropicBaseUrl': 'ANTHROPIC_BASE_URL',
};

/** Settings of `runtime` that the file decides where the environment does not. */
const FILE_PATHS: Record<string, string> = {
  'runtime.anthropicApiKey': 'models.providers.anthropic.apiKey',
  'runtime.anthropicBaseUrl': 'models.providers.anthropic.baseUrl',
  'runtime.concurrency': 'lanes',
};

/** All settings, in the order of the configuration. Lists are one setting each. */
export function settingsOf(config: Config, input: FileInput, env: Environment): Setting[] {
  const given = new Set(leavesOf(input, '').map(([path]) => path));
  return leavesOf(config, '').map(([path, value]) => ({
    // In the file, platforms are siblings of `webhook`.
    path: path.replace(/^channels\.platforms\./, 'channels.'),
    value: showable(path, value),
    source: sourceOf(path, given, env),
  }));
}

function sourceOf(path: string, given: ReadonlySet<string>, env: Environment): Setting['source'] {
  for (const [prefix, variable] of Object.entries(VARIABLES)) {
    if ((path === prefix || path.startsWith(`${prefix}.`)) && env[variable]?.trim()) return 'environment';
  }
  for (const [prefix, filePath] of Object.entries(FILE_PATHS)) {
    if (path.startsWith(prefix) && given.has(path.replace(prefix, filePath))) return 'file';
  }
  return given.has(path) ? 'file' : 'default';
}

function leavesOf(value: unknown, path: string): [path: string, value: unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]];
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, value]];
  return entries.flatMap(([key, child]) => leavesOf(child, path === '' ? key : `${path}.${key}`));
}
