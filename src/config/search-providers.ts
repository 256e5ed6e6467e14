// The providers of `web_search`: which there are, and which of them a configuration has.
import type { Refuse } from './config-error.ts';
import type { Config, FileSettings } from './schema.ts';
import { SEARCH_PROVIDERS, type SearchProviderName } from './schema-tools.ts';

type KeySetting = 'braveApiKey' | 'tavilyApiKey' | 'exaApiKey';

const VARIABLES = [
  { name: 'brave', setting: 'braveApiKey', variable: 'BRAVE_API_KEY' },
  { name: 'tavily', setting: 'tavilyApiKey', variable: 'TAVILY_API_KEY' },
  { name: 'exa', setting: 'exaApiKey', variable: 'EXA_API_KEY' },
] as const satisfies { name: SearchProviderName; setting: KeySetting; variable: string }[];

/** The settings of the environment that are also those of a search provider, by the path of the latter. */
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

/** The providers in the order in which they are asked: those that are listed, else all that are configured. */
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
