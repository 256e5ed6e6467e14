// The shown configuration: every key, its source, and no secret.
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfigWithSources, secretsOf, type Setting } from '../../src/config.ts';
import { configKeys } from '../../scripts/references/config-keys.ts';

let cwd = '';
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-sources-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function settingsWith(file: string | null, env: Record<string, string> = {}): Promise<Map<string, Setting>> {
  if (file !== null) await writeFile(join(cwd, 'holdfast.json'), file);
  const { settings } = loadConfigWithSources({ env, cwd, isTty: false });
  return new Map(settings.map((setting) => [setting.path, setting]));
}

const atLine = (line: number) => ({ source: 'file', at: `${join(cwd, 'holdfast.json')}:${line}` });
const shownAs = (secret: string) => ({
  isSet: true,
  fingerprint: createHash('sha256').update(secret).digest('hex').slice(0, 8),
});

test('every key of the schema has a setting, also without a file', async () => {
  const paths = [...(await settingsWith(null)).keys()];
  const missing = configKeys()
    .map(({ key }) => key)
    .filter((key) => !key.includes('<name>'))
    .filter((key) => !paths.some((path) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`)))
    // The short form of an object has one setting.
    .filter((key) => !paths.some((path) => key.startsWith(`${path}.`)));
  expect(missing).toEqual([]);
  expect(new Set(paths).size).toBe(paths.length);
});

test('a setting names the line of the file that decides it, also in short forms, lists and snake_case', async () => {
  const settings = await settingsWith(`{
    // the lanes
    lanes: { main: 9 },
    agents: {
      defaults: { max_steps: 7, llm: { idleTimeoutSeconds: 5 } },
      list: [
        { id: 'main' },
        { id: 'clerk',
          thinking: 'low' },
      ],
    },
    plugins: ['./one.mjs'],
    channels: { telegram: { label: 'Chat' } },
    owner: { phone: '+49170' },
    api: { keys: [
      'key-of-file-0123456789' ] },
  }`);
  const expected: [string, number][] = [
    ['lanes.main', 3],
    ['runtime.concurrency.main', 3],
    ['agents.defaults.maxSteps', 5],
    ['agents.defaults.llm.cronIdleTimeoutSeconds', 5],
    ['agents.list[1].thinking', 9],
    ['plugins.modules', 12],
    ['channels.telegram.label', 13],
    ['owner.ids', 14],
    ['api.keys[0].key', 16],
  ];
  for (const [path, line] of expected) expect(settings.get(path), path).toMatchObject(atLine(line));
  expect(settings.get('lanes.cron')).toMatchObject({ value: 16, source: 'default', at: null });
  expect(settings.get('session.historyLimit')).toMatchObject({ value: null, source: 'default', at: null });
});

test('a variable decides before the file, and a list of lanes only the lanes that it names', async () => {
  const settings = await settingsWith('{lanes: {main: 2, cron: 3}}', {
    HOLDFAST_CONCURRENCY: 'main=8',
    HOLDFAST_PORT: ' ',
    HOLDFAST_HOST: '127.0.0.1',
  });
  const fromConcurrency = { value: 8, source: 'environment', at: 'HOLDFAST_CONCURRENCY' };
  expect(settings.get('runtime.concurrency.main')).toMatchObject(fromConcurrency);
  expect(settings.get('runtime.concurrency.cron')).toMatchObject({ value: 3, ...atLine(1) });
  expect(settings.get('runtime.port')).toMatchObject({ source: 'default' });
  expect(settings.get('runtime.host')).toMatchObject({ source: 'environment', at: 'HOLDFAST_HOST' });
});

test('no setting has a secret, wherever one may be (G31)', async () => {
  let made = 0;
  const canary = () => `Canary0${++made}SecretValue`;
  const webhookSecret = 'whsec_CanaryCanaryCanaryCanary0';
  const own = canary();
  const file = {
    api: { keys: [canary(), { name: 'ops', key: canary(), role: 'viewer' }] },
    models: {
      providers: {
        anthropic: {
          apiKey: own,
          baseUrl: `https://me:${canary()}@host/v1?k=${canary()}`,
          headers: { 'x-a': canary() },
        },
      },
    },
    channels: {
      webhook: { secret: webhookSecret, url: `https://${canary()}@hooks.example/T1/${canary()}#${canary()}` },
    },
    owner: { displaySecret: canary() },
    sandbox: { browserUrl: `http://browser.lan/devtools/${canary()}` },
    plugins: {
      entries: {
        notes: { config: { place: canary(), deep: { list: [canary()], more: [{ pin: 4711_0815 }] }, on: true } },
      },
    },
    agents: {
      defaults: { heartbeat: { prompt: `Ask ${own} at https://a:${canary()}@x/` } },
      list: [
        { id: 'a', heartbeat: { when: { command: `curl ${canary()}` } } },
        { id: 'b', heartbeat: { when: { url: `https://wiki.lan/${canary()}` } } },
      ],
    },
    cron: {
      jobs: [
        {
          name: 'report',
          schedule: { kind: 'every', everyMs: 60_000 },
          payload: { kind: 'agentTurn', message: 'x' },
          delivery: { mode: 'webhook', url: `https://hooks.example/${canary()}?t=${canary()}` },
        },
      ],
    },
  };
  const settings = await settingsWith(JSON.stringify(file), {
    DATABASE_URL: `postgres://u:${canary()}@db.lan:5432/d?sslmode=require&sslpassword=${canary()}`,
    REDIS_URL: `rediss://:${canary()}@redis.lan/1`,
    HOLDFAST_API_KEY: canary(),
    ANTHROPIC_API_KEY: canary(),
    ANTHROPIC_BASE_URL: `https://me:${canary()}@host/v1`,
  });
  const shown = JSON.stringify([...settings.values()]);
  expect(shown).not.toMatch(/Canary|47110815/);
  expect(settings.get('models.providers.anthropic.apiKey')).toMatchObject({ isSecret: true, value: shownAs(own) });
  expect(settings.get('channels.webhook.secret')).toMatchObject({ isSecret: true, value: shownAs(webhookSecret) });
  expect(settings.get('owner.displaySecret')).toMatchObject({ isSecret: true, value: { isSet: true } });
  expect(settings.get('channels.webhook.url')?.value).toBe('https://[secret]@hooks.example/[secret]#[secret]');
  expect(settings.get('models.providers.anthropic.baseUrl')?.value).toBe('https://me:[secret]@host/v1?k=[secret]');
  const databaseUrl = 'postgres://u:[secret]@db.lan:5432/d?sslmode=require&sslpassword=[secret]';
  expect(settings.get('runtime.databaseUrl')?.value).toBe(databaseUrl);
  expect(settings.get('api.keys[1].name')).toMatchObject({ isSecret: false, value: 'ops' });
  expect(settings.get('plugins.entries.notes.config.on')?.value).toBe(true);
});

test.each(['"', "'", '<', '>', ' ', '%22', '@'])(
  'a password with %s is not shown, and is known to the log in each of its forms (G31)',
  async (mark) => {
    const url = `postgres://u:begin${mark}end@db.lan:5432/d`;
    const { config, settings } = loadConfigWithSources({ env: { DATABASE_URL: url }, cwd, isTty: false });
    expect(settings.find(({ path }) => path === 'runtime.databaseUrl')?.value).toBe(
      'postgres://u:[secret]@db.lan:5432/d',
    );
    expect(secretsOf(config)).toEqual(
      expect.arrayContaining([`begin${mark}end`, new URL(url).password, decodeURIComponent(`begin${mark}end`)]),
    );
  },
);

test('a secret that is not set says so', async () => {
  const settings = await settingsWith(null);
  const absent = { isSecret: true, value: { isSet: false, fingerprint: null }, source: 'default' };
  for (const path of ['runtime.apiKey', 'runtime.anthropicApiKey', 'channels.webhook.secret', 'owner.displaySecret'])
    expect(settings.get(path), path).toMatchObject(absent);
  const secrets = [...settings.values()].filter(({ isSecret }) => isSecret).map(({ path }) => path);
  expect(secrets.toSorted()).toEqual([
    'channels.webhook.secret',
    'models.providers.anthropic.apiKey',
    'models.providers.anthropic.keys',
    'owner.displaySecret',
    'runtime.anthropicApiKey',
    'runtime.apiKey',
    'runtime.braveApiKey',
    'runtime.exaApiKey',
    'runtime.googleApiKey',
    'runtime.openaiApiKey',
    'runtime.openrouterApiKey',
    'runtime.tavilyApiKey',
    'runtime.xaiApiKey',
    'tools.search.brave.apiKey',
    'tools.search.exa.apiKey',
    'tools.search.tavily.apiKey',
  ]);
});
