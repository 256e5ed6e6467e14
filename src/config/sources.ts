// Every setting by its path, with what decides it: what `holdfast config show` prints and `GET /v1/config` answers. Secrets are not in it,
// only their fingerprints (G31).
import { fileLines } from './file-lines.ts';
import type { Config } from './config-type.ts';
import { knownKeys } from './known-keys.ts';
import type { Environment } from './load-environment.ts';
import type { LoadedFile } from './load-file.ts';
import { fileVariableOf } from './read-secret-files.ts';
import { createRedact } from './redact-secrets.ts';
import { isSecret, shownSecret, shownValue } from './shown-value.ts';

export const SETTING_SOURCES = ['default', 'file', 'environment', 'command line'] as const;

export interface Setting {
  path: string;
  /** As it may be shown: a `ShownSecret` for a secret; null when it is not set and has no default. */
  value: unknown;
  isSecret: boolean;
  source: (typeof SETTING_SOURCES)[number];
  /** The file with the line (`/etc/holdfast.json:12`), the variable or the option; null for a default. */
  at: string | null;
}

/** Which variable decides which setting; of several the first that is set. */
const VARIABLES: Record<string, string | readonly string[]> = {
  'runtime.databaseUrl': 'DATABASE_URL',
  'runtime.redisUrl': 'REDIS_URL',
  'runtime.configPath': 'HOLDFAST_CONFIG',
  'runtime.dataDir': 'HOLDFAST_DATA_DIR',
  'runtime.host': 'HOLDFAST_HOST',
  'runtime.port': 'HOLDFAST_PORT',
  'runtime.metricsPort': 'HOLDFAST_METRICS_PORT',
  'runtime.apiKey': 'HOLDFAST_API_KEY',
  'runtime.leaseMs': 'HOLDFAST_LEASE_MS',
  'runtime.reconcileMs': 'HOLDFAST_RECONCILE_MS',
  'runtime.concurrency': 'HOLDFAST_CONCURRENCY',
  'runtime.logLevel': 'HOLDFAST_LOG_LEVEL',
  'runtime.logFormat': 'HOLDFAST_LOG_FORMAT',
  'runtime.logFiles': 'HOLDFAST_LOG_FILES',
  'runtime.traceEndpoint': ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  'runtime.traceSampler': 'OTEL_TRACES_SAMPLER',
  'runtime.traceRatio': 'OTEL_TRACES_SAMPLER_ARG',
  'runtime.anthropicApiKey': 'ANTHROPIC_API_KEY',
  'runtime.anthropicBaseUrl': 'ANTHROPIC_BASE_URL',
};

/** Settings that another key of the file decides when neither the environment nor their own key does. */
const FILE_PATHS: readonly (readonly [own: RegExp, file: string])[] = [
  [/^runtime\.anthropicApiKey$/, 'models.providers.anthropic.apiKey'],
  [/^runtime\.anthropicBaseUrl$/, 'models.providers.anthropic.baseUrl'],
  [/^runtime\.concurrency\./, 'lanes.'],
  [/^owner\.ids$/, 'owner.phone'],
  [/(?<=\.llm\.)cronIdleTimeoutSeconds$/, 'idleTimeoutSeconds'],
];

/** The map of platforms, when it is empty: the file has no such key. */
const NO_PLATFORMS = 'channels.platforms';

interface SettingsInput {
  config: Config;
  file: LoadedFile;
  env: Environment;
  /** Removed from every text that repeats them. */
  secrets: readonly string[];
}

/** All settings, in the order of the configuration; also those without a value. Lists of plain values are one setting each. */
export function settingsOf({ config, file, env, secrets }: SettingsInput): Setting[] {
  const given = new Set(leavesOf(file.input, '').map(([path]) => inFile(path)));
  const lineOf = lineFinder(file.text);
  const redact = createRedact(secrets);
  const leaves = settingLeavesOf(config);
  return leaves.map(([ownPath, value]) => {
    const path = inFile(ownPath);
    const isHidden = isSecret(path, value);
    const shown = isHidden ? shownSecret(value) : shownValue(path, value, redact);
    const base = { path, value: shown, isSecret: isHidden };
    const variable = variableOf(path, env);
    if (variable !== undefined) {
      return { ...base, source: 'environment', at: fileVariableOf(variable, env) ?? variable };
    }
    const filePath = filePathOf(path, given);
    if (filePath === undefined || file.path === null) return { ...base, source: 'default', at: null };
    return { ...base, source: 'file', at: `${file.path}:${lineOf(filePath)}` };
  });
}

/** Every setting by its path as it is, with its secrets: to compare two configurations, never to show one. */
export function rawSettingsOf(config: Config): Map<string, unknown> {
  return new Map(settingLeavesOf(config).map(([path, value]) => [inFile(path), value]));
}

function settingLeavesOf(config: Config): [path: string, value: unknown][] {
  return leavesOf(withAbsentKeys(config), '').filter(([path]) => path !== NO_PLATFORMS);
}

/** In the file, platforms are siblings of `webhook`. */
function inFile(path: string): string {
  return path.replace(/^channels\.platforms(?=\.)/, 'channels');
}

function variableOf(path: string, env: Environment): string | undefined {
  const found = Object.entries(VARIABLES).find(([own]) => path === own || path.startsWith(`${own}.`));
  if (found === undefined) return undefined;
  const [own, names] = found;
  const saidBy = (name: string): string => env[fileVariableOf(name, env) ?? name]?.trim() ?? '';
  const variable = [names].flat().find((name) => saidBy(name) !== '');
  if (variable === undefined) return undefined;
  const text = saidBy(variable);
  // A list such as `main=8` says nothing about the other lanes.
  const isSaid = !text.includes('=') || path === own || text.includes(`${path.slice(own.length + 1)}=`);
  return isSaid ? variable : undefined;
}

/** The key of the file that decides a setting; undefined: none does. */
function filePathOf(path: string, given: ReadonlySet<string>): string | undefined {
  if (given.has(path)) return path;
  const others = FILE_PATHS.filter(([own]) => own.test(path)).map(([own, file]) => path.replace(own, file));
  return others.find((other) => given.has(other));
}

/** Finds the line of a key, or of its alternative form: a list in place of an object, or a name in snake_case. */
function lineFinder(text: string): (path: string) => number {
  const lines = text === '' ? new Map<string, number>() : fileLines(text);
  const renamed = new Map([...lines].map(([path, line]) => [camelCased(path), line]));
  return (path) => {
    for (let at = path; at !== ''; at = at.replace(/(?:\.|\[|^)[^.[]*$/, '')) {
      const line = lines.get(at) ?? renamed.get(at);
      if (line !== undefined) return line;
    }
    return 1;
  };
}

function camelCased(path: string): string {
  return path.replaceAll(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A copy of the configuration in which every key that has no value is null. */
function withAbsentKeys(config: Config): Record<string, unknown> {
  const tree = structuredClone(config) as unknown as Record<string, unknown>;
  const variables = Object.keys(VARIABLES).map((path) => path.split('.'));
  for (const path of [...variables, ...knownKeys()]) {
    let at = tree;
    for (const step of path.slice(0, -1)) at = (at[step] ??= {}) as Record<string, unknown>;
    at[path.at(-1) ?? ''] ??= null;
  }
  return tree;
}

function leavesOf(value: unknown, path: string): [path: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  if (Array.isArray(value)) {
    const hasParts = value.some((each) => typeof each === 'object' && each !== null);
    return hasParts ? value.flatMap((each, at) => leavesOf(each, `${path}[${at}]`)) : [[path, value]];
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return [[path, value]];
  return entries.flatMap(([key, child]) => leavesOf(child, path === '' ? key : `${path}.${key}`));
}
