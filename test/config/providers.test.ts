// Which other providers serve models: what the file says, what is known by name, and what the
// environment says.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  anthropicKeyOf,
  ConfigError,
  listServedProviders,
  loadConfigWithSources,
  modelFault,
  secretsOf,
} from '../../src/config.ts';

function load(providers: object, env: Record<string, string> = {}, more: object = {}) {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-providers-'));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  writeFileSync(join(cwd, 'holdfast.json'), JSON.stringify({ models: { providers }, ...more }));
  return { ...loadConfigWithSources({ env, cwd, isTty: false }), cwd };
}

function servedBy(providers: object, env: Record<string, string> = {}, more: object = {}) {
  return listServedProviders(load(providers, env, more).config.models);
}

/** The key of a provider that has one. */
const only = (key: string) => ({ name: 'default', scope: 'default', key });

function faultOf(providers: object, more: object = {}): string {
  try {
    load(providers, {}, more);
    return '';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map(({ path, message }) => `${path} ${message}`).join('\n');
  }
}

test.each([
  ['OPENAI_API_KEY', 'openai', 'openai', undefined],
  ['GOOGLE_GENERATIVE_AI_API_KEY', 'google', 'google', undefined],
  ['GEMINI_API_KEY', 'google', 'google', undefined],
  ['XAI_API_KEY', 'xai', 'xai', undefined],
  ['OPENROUTER_API_KEY', 'openrouter', 'openai-compatible', 'https://openrouter.ai/api/v1'],
])('%s alone makes the models of a provider available', (variable, name, api, baseUrl) => {
  const env = { [variable]: 'key-of-the-account' };
  const { config, settings } = load({}, env);
  expect(listServedProviders(config.models)).toEqual([
    { name, api, keys: [only('key-of-the-account')], ...(baseUrl === undefined ? {} : { baseUrl }) },
  ]);
  expect(modelFault(config, 'main', `${name}/any`)).toBeNull();
  expect(secretsOf(config)).toContain('key-of-the-account');
  const path = `models.providers.${name}.apiKey`;
  expect(settings.find((setting) => setting.path === path)).toMatchObject({
    isSecret: true,
    source: 'environment',
    at: variable,
  });
  expect(JSON.stringify(settings)).not.toContain('key-of-the-account');
});

test('the environment counts more than the file, and an address without a key names no account', () => {
  const env = { OPENAI_API_KEY: 'key-of-the-environment', OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  expect(servedBy({ openai: { apiKey: 'key-of-the-file', maxRetries: 1 } }, env)).toMatchObject([
    { name: 'openai', keys: [only('key-of-the-environment')], baseUrl: 'http://127.0.0.1:9/v1', maxRetries: 1 },
  ]);
  expect(servedBy({}, { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' })).toEqual([]);
});

test('a local server needs an address alone, and Ollama not even that', () => {
  expect(servedBy({ ollama: {}, vllm: { api: 'openai-compatible', baseUrl: 'http://127.0.0.1:8000/v1' } })).toEqual([
    { name: 'ollama', api: 'openai-compatible', baseUrl: 'http://127.0.0.1:11434/v1', keys: [only('none')] },
    { name: 'vllm', api: 'openai-compatible', baseUrl: 'http://127.0.0.1:8000/v1', keys: [only('none')] },
  ]);
});

test('any package can be named, or a file beside the configuration', () => {
  const providers = {
    groq: { api: 'package', package: '@ai-sdk/groq', apiKey: 'gsk-of-groq' },
    mine: { api: 'package', package: './mine.mjs', options: { region: 'eu', secretAccessKey: 'secret-of-mine' } },
  };
  const { config, cwd } = load(providers);
  expect(listServedProviders(config.models)).toMatchObject([
    { name: 'groq', package: '@ai-sdk/groq' },
    { name: 'mine', package: join(cwd, 'mine.mjs'), keys: [only('none')] },
  ]);
  expect(secretsOf(config)).toEqual(expect.arrayContaining(['gsk-of-groq', 'secret-of-mine']));
  expect(secretsOf(config)).not.toContain('eu');
});

test('several keys come from the file, from variables and from files, and all of them are secrets (G31)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'third');
  writeFileSync(file, 'key-of-a-file\n');
  const keys = [
    { name: 'first', key: 'key-in-place', scope: 'team' },
    { name: 'second', env: 'OPENAI_API_KEY' },
    { name: 'third', file },
  ];
  const env = { OPENAI_API_KEY: 'key-of-a-variable' };
  const { config, settings } = load(
    { openai: { keys }, anthropic: { keys: [{ name: 'a', key: 'key-of-anthropic' }] } },
    env,
  );
  expect(listServedProviders(config.models)).toEqual([
    {
      name: 'openai',
      api: 'openai',
      keys: [
        { name: 'first', scope: 'team', key: 'key-in-place' },
        { name: 'second', scope: 'second', key: 'key-of-a-variable' },
        { name: 'third', scope: 'third', key: 'key-of-a-file' },
      ],
    },
  ]);
  expect(anthropicKeyOf(config)).toBe('key-of-anthropic');
  const all = ['key-in-place', 'key-of-a-variable', 'key-of-a-file', 'key-of-anthropic'];
  expect(secretsOf(config)).toEqual(expect.arrayContaining(all));
  for (const secret of all) expect(JSON.stringify(settings)).not.toContain(secret);
});

test.each([
  [{ apiKey: 'key-one', keys: [{ name: 'a', key: 'key-two' }] }, 'keys', 'beside apiKey'],
  [{ keys: [] }, 'keys', 'at least 1 item'],
  [
    {
      keys: [
        { name: 'a', key: 'key-one' },
        { name: 'a', key: 'key-two' },
      ],
    },
    'keys[1].name',
    'no key before has',
  ],
  [{ keys: [{ name: 'a' }] }, 'keys[0]', 'exactly one of key, env'],
  [{ keys: [{ name: 'a', key: 'key-one', env: 'KEY' }] }, 'keys[0]', 'exactly one of key, env'],
  [{ keys: [{ name: 'a', env: 'NOT_SET' }] }, 'keys[0].env', 'a variable that is set'],
  [{ keys: [{ name: 'a', file: './not-there' }] }, 'keys[0].file', 'which does not exist'],
])('the keys %j are refused with the field and what is allowed', (settings, path, hint) => {
  for (const name of ['openai', 'anthropic']) {
    const fault = faultOf({ [name]: settings });
    expect(fault).toContain(`models.providers.${name}.${path} `);
    expect(fault).toContain(hint);
    expect(fault).not.toMatch(/key-(?:one|two)/);
  }
});

test('a provider of a plugin keeps its settings, whatever its name is', () => {
  expect(servedBy({ google: { family: 'google' }, nine: { maxRetries: 2 } }, {}, { plugins: ['./p.ts'] })).toEqual([]);
});

test.each([
  [{ openai: {} }, 'models.providers.openai.apiKey', 'or set OPENAI_API_KEY'],
  [{ other: { api: 'google' } }, 'models.providers.other.apiKey', 'the key of other'],
  [{ vllm: { api: 'openai-compatible' } }, 'models.providers.vllm.baseUrl', '/chat/completions'],
  [{ groq: { api: 'package' } }, 'models.providers.groq.package', '@ai-sdk/groq'],
  [{ openai: { apiKey: 'key', package: 'x' } }, 'models.providers.openai.package', 'no other api'],
  [
    { other: { baseUrl: 'http://h', options: { a: 1 } } },
    'models.providers.other.options',
    'set models.providers.other.api',
  ],
  [{ other: { api: 'open-ai' } }, 'models.providers.other.api', '"openai-compatible"'],
])('%j is refused with the field and what to do', (providers, path, hint) => {
  const fault = faultOf(providers);
  expect(fault).toContain(path);
  expect(fault).toContain(hint);
});

test('a model of a provider that is known and has no key says which key is missing', () => {
  const named = (model: string) => faultOf({}, { agents: { defaults: { model } } });
  expect(named('openai/gpt-5')).toContain('set OPENAI_API_KEY or models.providers.openai.apiKey');
  expect(named('ollama/qwen3')).toContain('add models.providers.ollama: {}');
  expect(named('local/small')).toBe(
    'agents.defaults.model is "local/small"; allowed: "anthropic/<model>", or an alias of "models"',
  );
});

test.each([
  ['noslash', {}, 'one model as "provider/model"'],
  ['openai/gpt-*', {}, 'without *'],
  ['openai/gpt-5', { contextTokens: 'big' }, 'a number'],
  ['openai/gpt-5', { input: [] }, 'at least 1 item'],
])('facts of %s that are %j are refused', (model, facts, hint) => {
  const fault = faultOf({}, { models: { catalogue: { [model]: facts } } });
  expect(fault).toContain(`models.catalogue.${model}`);
  expect(fault).toContain(hint);
});
