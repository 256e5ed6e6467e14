// The configuration: file and environment, checked, merged, frozen. The environment is read only
// here and in `config/`; everything else is given a `Config`. A configuration with a fault is never
// used: `ConfigError` lists all faults.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { isSecret, adoptSecretFile, ensureSecretFile, isSecretVariable } from './config/secrets.ts';
import {
  isAgent,
  agentOf,
  defaultAgentOf,
  reachableAgents,
  agentOrFirst,
  factsOfModel,
  resolveModelRef,
  UnknownAgentError,
} from './config/agent-settings.ts';
import {
  checkServedModels,
  modelFault,
  modelNotices,
  namedModels,
  noteServedProviders,
  checkKnownTools,
  noteAddedTools,
  toolPolicyFault,
} from './config/check-names.ts';
import { completeSettings, crossCheck, loadFile, type LoadedFile } from './config/load-file.ts';
import { ConfigError } from './config/config-error.ts';
import { LANES, type Lane } from './core/session-key.ts';
import type { Config } from './config/schema.ts';
import { deepFreeze } from './core/json.ts';
import { loadEnvironment } from './config/schema-environment.ts';
import {
  LiveConfig,
  type ConfigChange,
  livePriceBook,
  buildPriceBook,
  findReloadablePart,
} from './config/live-config.ts';
import {
  addFromEnvironment,
  anthropicKeyOf,
  keysOf,
  listProviderKeys,
  listServedProviders,
  readKeys,
  addSearchKeys,
} from './config/providers.ts';
import { processEnvironment, type Environment, readText } from './config/process-environment.ts';
import { listSettings, type Setting } from './config/sources.ts';

export {
  anthropicKeyOf,
  keysOf as keysOfProvider,
  LiveConfig,
  agentOf,
  defaultAgentOf,
  reachableAgents,
  agentOrFirst,
  checkKnownTools,
  toolPolicyFault,
  checkServedModels,
  factsOfModel,
  isAgent,
  listProviderKeys,
  listServedProviders,
  modelFault,
  modelNotices,
  namedModels,
  resolveModelRef as modelRefOf,
  noteAddedTools,
  noteServedProviders,
  livePriceBook,
  buildPriceBook as priceBookOf,
  UnknownAgentError,
  ConfigError,
  LANES,
  processEnvironment,
  findReloadablePart as reloadablePartOf,
};
export { DOCS_PATH } from './config/schema.ts';
export type { Config, ConfigChange, Lane, Setting };
export type { ProviderKey, ServedProvider } from './config/providers.ts';
export type { SearchAccess } from './config/providers.ts';
export type { McpServerSettings } from './config/schema-tools.ts';
export type { ProviderSettings } from './config/schema-models.ts';
export type { AgentSettings } from './config/agent-settings.ts';
export type { ThinkingLevel } from './core/models.ts';
export type { QueueMode } from './core/queue-mode.ts';
export type { PluginSettings } from './config/schema.ts';

/** Secrets that have no other fixed place are in this folder of the data directory. */
const SECRETS_FOLDER = 'secrets';

interface LoadOptions {
  /** Absent: the environment of this process. */
  env?: Environment;
  /** Where relative paths of the environment start; absent: the working directory. */
  cwd?: string;
  /** Decides the log format when no setting does; absent: whether stderr is a terminal. */
  isTty?: boolean;
}

/**
 * The configuration of this process. Throws `ConfigError` with every fault of the file and of the
 * environment.
 */
export function loadConfig(options: LoadOptions = {}): Config {
  return load(options).config;
}

/** Loads the configuration with the source of each setting; secrets are left out. */
export function loadConfigWithSources(options: LoadOptions = {}): { config: Config; settings: Setting[] } {
  const { env = process.env } = options;
  const { config, file } = load(options);
  return { config, settings: listSettings({ config, file, env, secrets: secretsOf(config) }) };
}

/**
 * As `loadConfigWithSources`, of this file and the environment of this process. Null: of no file.
 */
export function loadConfigFile(path: string | null): { config: Config; settings: Setting[] } {
  return path === null
    ? loadConfigWithSources()
    : loadConfigWithSources({ env: { ...process.env, HOLDFAST_CONFIG: path } });
}

function load({ env = process.env, cwd = process.cwd(), isTty = process.stderr.isTTY }: LoadOptions): {
  config: Config;
  file: LoadedFile;
} {
  const { issues, configPath, ...environment } = loadEnvironment(env, cwd);
  const file = loadFile(configPath, cwd);
  const settings = completeSettings(file.settings, environment.dataDir, file.baseDir);
  addFromEnvironment(settings, environment);
  addSearchKeys(settings, environment);
  const faults = [
    ...issues,
    ...file.issues,
    ...readKeys(settings, { env, baseDir: file.baseDir }),
    ...crossCheck(settings, environment.dataDir),
  ];
  if (faults.length > 0) throw new ConfigError(faults);
  const { apiKey, baseUrl } = settings.models.providers.anthropic;
  const config = deepFreeze<Config>({
    ...settings,
    runtime: {
      ...(apiKey === undefined ? {} : { anthropicApiKey: apiKey }),
      ...(baseUrl === undefined ? {} : { anthropicBaseUrl: baseUrl }),
      logFormat: isTty ? 'pretty' : 'json',
      ...environment,
      configPath: file.path,
      concurrency: { ...settings.lanes, ...environment.concurrency },
    },
  });
  return { config, file };
}

/**
 * The admin key: HOLDFAST_API_KEY, else the one in `<dataDir>/api-key`, made once with mode 0600.
 * `path` is null when the key comes from the environment. Safe when many processes start at the
 * same time: all get the same key.
 */
export async function ensureApiKey(
  config: Config,
): Promise<{ key: string; path: string | null; wasGenerated: boolean }> {
  const { apiKey, dataDir } = config.runtime;
  if (apiKey !== undefined) return { key: apiKey, path: null, wasGenerated: false };
  const made = await ensureSecretFile(dataDir, 'api-key', () => `hf_${randomBytes(32).toString('base64url')}`);
  return { key: made.secret, path: made.path, wasGenerated: made.wasGenerated };
}

/**
 * The secrets that webhooks are signed with: `channels.webhook.secret`, else the one in
 * `<dataDir>/secrets`, made once. In the form of Standard Webhooks, `whsec_` and base64.
 */
export async function ensureWebhookSecrets(config: Config): Promise<string[]> {
  const { secret } = config.channels.webhook;
  if (secret !== undefined) return [secret].flat();
  const generate = () => `whsec_${randomBytes(32).toString('base64')}`;
  const { dataDir } = config.runtime;
  const folder = join(dataDir, SECRETS_FOLDER);
  await adoptSecretFile(join(dataDir, 'webhook-secret'), join(folder, 'webhook-secret'));
  return [(await ensureSecretFile(folder, 'webhook-secret', generate)).secret];
}

/** Every secret in the configuration: the logger must never write one of them (G31). */
export function secretsOf(config: Config): string[] {
  const { runtime, models, channels, api, owner, mcp, tools } = config;
  const { brave, tavily, exa, searxng } = tools.search;
  const servers = Object.values(mcp.servers).map(({ url }) => url);
  const urls = [...servers, ...[brave, tavily, exa, searxng].map(({ baseUrl }) => baseUrl)];
  const passwords = [runtime.databaseUrl, runtime.redisUrl, runtime.traceEndpoint, ...urls].flatMap(listPasswords);
  const others = [
    runtime.apiKey,
    runtime.anthropicApiKey,
    ...[channels.webhook.secret].flat(),
    ...Object.values(channels.platforms).flatMap(({ accounts = {} }) =>
      Object.values(accounts).flatMap(({ token, tokenEnv, tokenFile, signingSecret, secretToken, appToken }) => [
        token,
        tokenEnv === undefined ? undefined : processEnvironment()[tokenEnv]?.trim(),
        tokenFile === undefined ? undefined : textOfFile(tokenFile),
        signingSecret,
        secretToken,
        appToken,
      ]),
    ),
    owner.displaySecret,
    ...Object.values(models.providers).flatMap((provider) => [
      provider.apiKey,
      ...(provider.keys ?? []).map(({ key }) => key),
      ...Object.values(provider.headers ?? {}),
      ...('options' in provider ? secretOptions(provider.options) : []),
    ]),
    ...api.keys.map((each) => each.key),
    ...[brave, tavily, exa].map(({ apiKey }) => apiKey),
    ...Object.values(mcp.servers).flatMap(({ auth, headers, env }) => [
      auth?.token,
      ...Object.values(headers),
      ...Object.entries(env).flatMap(([name, value]) => (isSecretVariable(name, value) ? [value] : [])),
    ]),
  ];
  return [...passwords, ...others].filter((secret) => secret !== undefined);
}

/** Undefined: there is none that can be read. */
function textOfFile(path: string): string | undefined {
  const read = readText(path);
  return 'text' in read ? read.text : undefined;
}

/** The options of a provider whose name says that they are secrets. */
function secretOptions(options: Record<string, unknown> = {}): string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    typeof value === 'string' && isSecret(name, value) ? [value] : [],
  );
}

/**
 * The password of an address: as it is written there, as URLs write it, and as it is sent to the
 * server.
 */
function listPasswords(url: string | undefined): string[] {
  const { password } = new URL(url ?? 'none:');
  if (url === undefined || password === '') return [];
  const [, written = password] = /^[^:]+:\/\/[^:/?#]*:([^/?#]*)@/.exec(url.trim()) ?? [];
  return [...new Set([written, password, decodeText(password)])];
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
