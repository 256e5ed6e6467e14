// Which providers `web_search` asks, from the file and the environment.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, loadConfigWithSources, secretsOf } from '../../../src/config.ts';
import { listSearchProviders } from '../../../src/config/providers.ts';

function load(search: object, env: Record<string, string> = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-search-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, 'holdfast.json'), JSON.stringify({ tools: { search } }));
  return loadConfigWithSources({ env, cwd, isTty: false });
}

function namesOf(search: object, env: Record<string, string> = {}): string[] {
  return listSearchProviders(load(search, env).config.tools).map(({ name }) => name);
}

test('without a list, all that have a key or an address are asked, in a fixed order', () => {
  expect(namesOf({})).toEqual([]);
  expect(namesOf({ searxng: { baseUrl: 'http://searx.lan' }, exa: { apiKey: 'k' } }, { BRAVE_API_KEY: 'b' })).toEqual([
    'brave',
    'exa',
    'searxng',
  ]);
});

test('a list has its own order, and each of its providers needs what it is asked with', () => {
  const env = { TAVILY_API_KEY: 't', EXA_API_KEY: 'e' };
  expect(namesOf({ providers: ['exa', 'tavily'] }, { ...env, BRAVE_API_KEY: 'b' })).toEqual(['exa', 'tavily']);
  const faultsOf = (search: object): string[] => {
    try {
      return namesOf(search, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.issues.map(({ path, message }) => `${path} ${message}`);
    }
  };
  expect(faultsOf({ providers: ['brave', 'exa', 'searxng'] })).toEqual([
    'tools.search.brave.apiKey is null; allowed: the key of brave, or set BRAVE_API_KEY',
    'tools.search.searxng.baseUrl is null; allowed: the address of the SearXNG that is asked',
  ]);
  expect(faultsOf({ providers: ['exa', 'exa'] })).toEqual([
    expect.stringMatching(/^tools\.search\.providers .*each provider once/),
  ]);
  expect(faultsOf({ providers: ['bing'] })).toEqual([expect.stringMatching(/^tools\.search\.providers\[0\] .*brave/)]);
});

test('keys are secrets, and the environment overrides the file', () => {
  const { config, settings } = load({ brave: { apiKey: 'key-of-the-file' } }, { BRAVE_API_KEY: 'key-of-the-variable' });
  expect(config.tools.search.brave.apiKey).toBe('key-of-the-variable');
  expect(secretsOf(config)).toContain('key-of-the-variable');
  const shown = settings.find(({ path }) => path === 'tools.search.brave.apiKey');
  expect(shown).toMatchObject({ isSecret: true, source: 'environment', at: 'BRAVE_API_KEY' });
  expect(JSON.stringify(settings)).not.toMatch(/key-of-the/);
});
