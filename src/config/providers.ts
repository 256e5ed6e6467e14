// Which providers serve models and searches, and how: those of the configuration, those that are
// known by name, and what the environment says about them.
import { resolve } from 'node:path';
import { given } from '../core/json.ts';
import { DEFAULT_PROVIDER } from '../core/models.ts';
import { DEFAULT_KEY, NO_KEY } from '../kernel/rules/provider-keys.ts';
import { PROVIDER_APIS, type ProviderApi, type ProviderSettings } from './schema-models.ts';
import { collectFaults, type ConfigIssue, type Refuse } from './config-error.ts';
import { type Environment, readText } from './process-environment.ts';
import { headerValue } from './schema-scalars.ts';
import type { Config, FileSettings } from './schema.ts';
import { SEARCH_PROVIDERS, type SearchProviderName } from './schema-tools.ts';

interface KnownProvider {
  api: ProviderApi;
  /** Absent: its package knows it. */
  baseUrl?: string;
  /** The settings of the environment that decide its own; none: it has no key. */
  variables: { apiKey?: EnvironmentSetting; baseUrl?: EnvironmentSetting };
  /** The variable to set. */
  keyVariable?: string;
}

type EnvironmentSetting = 'openaiApiKey' | 'openaiBaseUrl' | 'googleApiKey' | 'xaiApiKey' | 'openrouterApiKey';

/** The providers that are known by name. */
export const KNOWN_PROVIDERS: Readonly<Record<string, KnownProvider>> = {
  openai: {
    api: 'openai',
    variables: { apiKey: 'openaiApiKey', baseUrl: 'openaiBaseUrl' },
    keyVariable: 'OPENAI_API_KEY',
  },
  google: { api: 'google', variables: { apiKey: 'googleApiKey' }, keyVariable: 'GEMINI_API_KEY' },
  xai: { api: 'xai', variables: { apiKey: 'xaiApiKey' }, keyVariable: 'XAI_API_KEY' },
  openrouter: {
    api: 'openai-compatible',
    baseUrl: 'https://openrouter.ai/api/v1',
    variables: { apiKey: 'openrouterApiKey' },
    keyVariable: 'OPENROUTER_API_KEY',
  },
  ollama: { api: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1', variables: {} },
};

function knownProvider(name: string): KnownProvider | undefined {
  return Object.hasOwn(KNOWN_PROVIDERS, name) ? KNOWN_PROVIDERS[name] : undefined;
}

/** The settings of the environment that are also those of a provider, by the path of the latter. */
export const PROVIDER_VARIABLES: ReadonlyMap<string, EnvironmentSetting> = new Map(
  Object.entries(KNOWN_PROVIDERS).flatMap(([name, { variables }]) =>
    Object.entries(variables).map(([field, setting]) => [`models.providers.${name}.${field}`, setting] as const),
  ),
);

/** Adds to the providers of the file what the environment says, which counts more. */
export function addFromEnvironment(
  { models: { providers } }: FileSettings,
  environment: Partial<Record<EnvironmentSetting, string>>,
): void {
  for (const [name, { variables }] of Object.entries(KNOWN_PROVIDERS)) {
    for (const field of ['apiKey', 'baseUrl'] as const) {
      const setting = variables[field];
      const value = setting === undefined ? undefined : environment[setting];
      if (value === undefined) continue;
      // The address alone names no account.
      if (field === 'baseUrl' && providers[name] === undefined) continue;
      // The file says which keys there are, and may name the variable.
      if (field === 'apiKey' && providers[name]?.keys !== undefined) continue;
      providers[name] = { ...providers[name], [field]: value };
    }
  }
}

/** Reads the keys that the file only names: variables and files. Returns the faults. */
export function readKeys(
  { models: { providers } }: FileSettings,
  { env, baseDir }: { env: Environment; baseDir: string },
): ConfigIssue[] {
  return collectFaults((refuse) => {
    for (const [name, { keys = [] }] of Object.entries(providers)) {
      for (const [at, key] of keys.entries()) {
        const path = `models.providers.${name}.keys[${at}]`;
        if (key.env !== undefined) {
          const value = env[key.env]?.trim() ?? '';
          if (isHeaderValue(value)) key.key = value;
          else refuse(`${path}.env`, key.env, 'a variable that is set and holds a key in one line');
        }
        if (key.file !== undefined) {
          key.file = resolve(baseDir, key.file);
          const read = readText(key.file);
          if ('text' in read && isHeaderValue(read.text)) key.key = read.text;
          else
            refuse(
              `${path}.file`,
              key.file,
              `a file that holds a key in one line${'fault' in read ? `; it ${read.fault}` : ''}`,
            );
        }
      }
    }
  });
}

function isHeaderValue(text: string): boolean {
  return headerValue.safeParse(text).success;
}

/** A key of a provider. */
export interface ProviderKey {
  name: string;
  /** Keys of one scope can read each other's reasoning. */
  scope: string;
  key: string;
}

/** The keys of a provider, at least one; that of `apiKey` is called `default`. */
export function keysOf({ keys, apiKey = NO_KEY }: Pick<ProviderSettings, 'keys' | 'apiKey'>): ProviderKey[] {
  const only = { name: DEFAULT_KEY, scope: DEFAULT_KEY, key: apiKey };
  return keys?.map(({ name, scope = name, key = NO_KEY }) => ({ name, scope, key })) ?? [only];
}

/** The key with which Anthropic is asked where one alone is needed; undefined: there is none. */
export function anthropicKeyOf({ models, runtime }: Pick<Config, 'models' | 'runtime'>): string | undefined {
  return models.providers.anthropic.keys?.[0]?.key ?? runtime.anthropicApiKey;
}

/** How a provider is asked. */
export interface ServedProvider extends Omit<ProviderSettings, 'api' | 'apiKey' | 'keys'> {
  name: string;
  api: ProviderApi;
  keys: ProviderKey[];
}

/** The providers beside the built-in one that Holdfast itself serves. */
export function listServedProviders({ providers }: FileSettings['models']): ServedProvider[] {
  return Object.entries(providers).flatMap(([name, settings]) => {
    if (name === DEFAULT_PROVIDER || !isServed(name, settings)) return [];
    const baseUrl = settings.baseUrl ?? knownProvider(name)?.baseUrl;
    const { apiKey: _one, keys: _written, ...more } = settings;
    const keys = keysOf(settings);
    return [{ ...more, name, api: apiOf(name, settings), keys, ...(baseUrl === undefined ? {} : { baseUrl }) }];
  });
}

/**
 * All providers that are not a plugin's, as they are asked; without a key, the scripted model
 * answers in place of Anthropic.
 */
export function listProviderKeys(
  config: Pick<Config, 'models' | 'runtime'>,
): { name: string; api: ProviderApi; baseUrl: string | null; keys: ProviderKey[] }[] {
  const { runtime, models } = config;
  const { keys } = models.providers.anthropic;
  const apiKey = runtime.anthropicApiKey;
  const anthropic = {
    name: DEFAULT_PROVIDER,
    api: 'anthropic' as const,
    baseUrl: runtime.anthropicBaseUrl ?? null,
    keys: keysOf({ ...given({ keys, apiKey }) }),
  };
  const others = listServedProviders(models).map(({ name, api, baseUrl = null, keys: own }) => ({
    name,
    api,
    baseUrl,
    keys: own,
  }));
  return [anthropic, ...others];
}

/** The API of a provider: the configured one, else that of its name. */
function apiOf(name: string, { api }: ProviderSettings): ProviderApi {
  return api ?? knownProvider(name)?.api ?? 'anthropic';
}

/** True when enough is said about a provider to ask it; otherwise a plugin serves it. */
function isServed(name: string, settings: ProviderSettings): boolean {
  const api = apiOf(name, settings);
  const known = knownProvider(name);
  if (api === 'package') return settings.package !== undefined;
  if (settings.baseUrl !== undefined) return true;
  if (api === 'anthropic' || (api === 'openai-compatible' && known?.baseUrl === undefined)) return false;
  return (settings.apiKey ?? settings.keys) !== undefined || (known !== undefined && known.keyVariable === undefined);
}

/** What to set so that a provider that is known by name serves a model; empty for any other. */
export function setUpHint(ref: string): string {
  const name = ref.slice(0, Math.max(0, ref.indexOf('/')));
  const known = knownProvider(name);
  if (known === undefined) return '';
  if (known.keyVariable === undefined) return `; for ${name}, add models.providers.${name}: {}`;
  return `; for ${name}, set ${known.keyVariable} or models.providers.${name}.apiKey`;
}

/** Hosts whose API is not Anthropic's. */
const OTHER_APIS = /^(?:api\.openai\.com|generativelanguage\.googleapis\.com|api\.mistral\.ai|api\.x\.ai)$/;

/** Refuses the settings of a provider that cannot work. `hasPlugins`: a plugin may serve it. */
export function checkProvider(
  name: string,
  settings: ProviderSettings,
  { hasPlugins, refuse }: { hasPlugins: boolean; refuse: Refuse },
): void {
  const path = `models.providers.${name}`;
  const api = apiOf(name, settings);
  if (settings.keys !== undefined && settings.apiKey !== undefined)
    refuse(
      `${path}.keys`,
      settings.keys.map((each) => each.name),
      'no keys beside apiKey: make it one of the keys, or leave keys out',
    );
  if (api === 'anthropic') return checkAnthropic(path, settings, { isBuiltIn: name === DEFAULT_PROVIDER, refuse });
  if ((settings.package === undefined) === (api === 'package')) {
    const allowed =
      'an installed package of the AI SDK with api "package", such as "@ai-sdk/groq"; no other api has one';
    refuse(`${path}.package`, settings.package ?? null, allowed);
    return;
  }
  if (hasPlugins || isServed(name, settings)) return;
  if (api === 'openai-compatible' && settings.baseUrl === undefined && knownProvider(name)?.baseUrl === undefined) {
    refuse(`${path}.baseUrl`, null, 'the address of its API, to which /chat/completions is added');
    return;
  }
  const { keyVariable } = knownProvider(name) ?? {};
  refuse(`${path}.apiKey`, null, `the key of ${name}${keyVariable === undefined ? '' : `, or set ${keyVariable}`}`);
}

function checkAnthropic(
  path: string,
  { baseUrl, apiKey, keys, headers, options, package: named, family = 'anthropic' }: ProviderSettings,
  { isBuiltIn, refuse }: { isBuiltIn: boolean; refuse: Refuse },
): void {
  for (const [field, value] of Object.entries({ options, package: named })) {
    if (value !== undefined) refuse(`${path}.${field}`, value, `nothing with Anthropic's API; set ${path}.api`);
  }
  if (baseUrl === undefined) {
    const isUnused = !isBuiltIn && (apiKey ?? keys ?? headers) !== undefined;
    if (isUnused) refuse(`${path}.baseUrl`, null, 'the address that its key and headers are for');
    return;
  }
  const { hostname, pathname } = new URL(baseUrl);
  const isOtherForm = family !== 'anthropic' && /\/v1(?:beta)?\/?$/.test(pathname);
  if (!OTHER_APIS.test(hostname) && !isOtherForm) return;
  const [field, value] = family === 'anthropic' ? ['baseUrl', hostname] : ['family', family];
  refuse(
    `${path}.${field}`,
    value,
    `an address that has Anthropic's Messages API, to which /v1/messages is added, so it must not end in /v1; family only changes the form of the history. For another API set ${path}.api to ${PROVIDER_APIS.slice(1).join(', ')}, or write a plugin with registerTransport and leave baseUrl out`,
  );
}

// The providers of `web_search`: which there are, and which of them a configuration has.

type KeySetting = 'braveApiKey' | 'tavilyApiKey' | 'exaApiKey';

const VARIABLES = [
  { name: 'brave', setting: 'braveApiKey', variable: 'BRAVE_API_KEY' },
  { name: 'tavily', setting: 'tavilyApiKey', variable: 'TAVILY_API_KEY' },
  { name: 'exa', setting: 'exaApiKey', variable: 'EXA_API_KEY' },
] as const satisfies { name: SearchProviderName; setting: KeySetting; variable: string }[];

/**
 * The settings of the environment that are also those of a search provider, by the path of the
 * latter.
 */
export const SEARCH_VARIABLES: ReadonlyMap<string, KeySetting> = new Map(
  VARIABLES.map(({ name, setting }) => [`tools.search.${name}.apiKey`, setting]),
);

/** Adds what the environment says, which counts more than the file. */
export function addSearchKeys({ tools }: FileSettings, environment: Partial<Record<KeySetting, string>>): void {
  for (const { name, setting } of VARIABLES) {
    const value = environment[setting];
    if (value !== undefined) tools.search[name].apiKey = value;
  }
}

/** A provider that is configured. */
export interface SearchAccess {
  name: SearchProviderName;
  /** Null for one that needs none. */
  apiKey: string | null;
  /** Null: its own address. */
  baseUrl: string | null;
}

/**
 * The providers in the order in which they are asked: those that are listed, else all that are
 * configured.
 */
export function listSearchProviders({ search }: Pick<Config['tools'], 'search'>): SearchAccess[] {
  return (search.providers ?? SEARCH_PROVIDERS).flatMap((name): SearchAccess[] => {
    const { baseUrl = null } = search[name];
    const apiKey = name === 'searxng' ? null : (search[name].apiKey ?? null);
    return isUsable(name, search) ? [{ name, apiKey, baseUrl }] : [];
  });
}

function isUsable(name: SearchProviderName, search: FileSettings['tools']['search']): boolean {
  return name === 'searxng' ? search.searxng.baseUrl !== undefined : search[name].apiKey !== undefined;
}

/** Refuses a listed provider that cannot be asked. */
export function checkSearch({ tools: { search } }: FileSettings, refuse: Refuse): void {
  for (const name of search.providers ?? []) {
    if (isUsable(name, search)) continue;
    const found = VARIABLES.find((one) => one.name === name);
    if (found === undefined) refuse('tools.search.searxng.baseUrl', null, 'the address of the SearXNG that is asked');
    else refuse(`tools.search.${name}.apiKey`, null, `the key of ${name}, or set ${found.variable}`);
  }
}
