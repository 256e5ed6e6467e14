// Which providers serve models, and how: those of the configuration, those that are known by name, and what the environment says about them.
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import { PROVIDER_APIS, type ProviderApi } from './choices.ts';
import type { Refuse } from './config-error.ts';
import type { ProviderSettings } from './schema-models.ts';
import type { FileSettings } from './schema.ts';

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
      providers[name] = { ...providers[name], [field]: value };
    }
  }
}

/** How a provider is asked. */
export interface ServedProvider extends Omit<ProviderSettings, 'api' | 'apiKey'> {
  name: string;
  api: ProviderApi;
  /** `none` for servers that take any. */
  apiKey: string;
}

/** The providers beside the built-in one that Holdfast itself serves. */
export function listServedProviders({ providers }: FileSettings['models']): ServedProvider[] {
  return Object.entries(providers).flatMap(([name, settings]) => {
    if (name === DEFAULT_PROVIDER || !isServed(name, settings)) return [];
    const baseUrl = settings.baseUrl ?? knownProvider(name)?.baseUrl;
    const { apiKey = 'none' } = settings;
    return [{ ...settings, name, api: apiOf(name, settings), apiKey, ...(baseUrl === undefined ? {} : { baseUrl }) }];
  });
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
  return settings.apiKey !== undefined || (known !== undefined && known.keyVariable === undefined);
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
  { baseUrl, apiKey, headers, options, package: named, family = 'anthropic' }: ProviderSettings,
  { isBuiltIn, refuse }: { isBuiltIn: boolean; refuse: Refuse },
): void {
  for (const [field, value] of Object.entries({ options, package: named })) {
    if (value !== undefined) refuse(`${path}.${field}`, value, `nothing with Anthropic's API; set ${path}.api`);
  }
  if (baseUrl === undefined) {
    const isUnused = !isBuiltIn && (apiKey ?? headers) !== undefined;
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
