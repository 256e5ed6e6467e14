// Each fault is reported with its path, its value and what is allowed; all of them together;
// secrets are not repeated.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config.ts';

let cwd: string;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-config-'));
});
afterEach(() => rm(cwd, { recursive: true }));

async function faultsOf(file: string | Uint8Array, env: Record<string, string> = {}): Promise<string[]> {
  await writeFile(join(cwd, 'holdfast.json'), file);
  try {
    loadConfig({ env, cwd });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map((issue) => `${issue.path} ${issue.message}`);
  }
}

describe('in the file', () => {
  test.each([
    ['{agents: {defaults: {maxSteps: 0}}}', 'agents.defaults.maxSteps is 0; allowed: at least 1'],
    ['{agents: {defaults: {maxSteps: 1.5}}}', 'agents.defaults.maxSteps is 1.5; allowed: a whole number'],
    [
      '{agents: {defaults: {promptMode: "ful"}}}',
      'agents.defaults.promptMode is "ful"; allowed: "full", "minimal", "none" (did you mean "full"?)',
    ],
    [
      '{api: {environment: "the second staging system"}}',
      'api.environment is "the second staging system"; allowed: at most 24 characters',
    ],
    [
      '{api: {origins: ["*"]}}',
      'api.origins[0] is "*"; allowed: the origin of a web page without a path, such as "https://shop.example" or "http://localhost:3000"',
    ],
    [
      '{api: {origins: ["https://shop.example/"]}}',
      'api.origins[0] is "https://shop.example/"; allowed: the origin of a web page without a path, such as "https://shop.example" or "http://localhost:3000"',
    ],
    ['{agents: {defaults: {maxStep: 3}}}', 'agents.defaults.maxStep is not a known key; did you mean "maxSteps"?'],
    [
      '{models: {prices: [{model: "x/y", inputPerMTok: 0.0001, outputPerMTok: 1}]}}',
      'models.prices[0].inputPerMTok is 0.0001; allowed: dollars per million tokens from 0 to 1000000, with at most three decimals',
    ],
    [
      '{models: {prices: [{model: "y", inputPerMTok: 1, outputPerMTok: 1}]}}',
      'models.prices[0].model is "y"; allowed: a model as "provider/model", in which * stands for any text, such as "anthropic/claude-sonnet-*"',
    ],
    [
      '{models: {prices: [{model: "x/y", from: "2026-02-30", inputPerMTok: 1, outputPerMTok: 1}]}}',
      'models.prices[0].from is "2026-02-30"; allowed: a day in UTC such as "2026-10-07"',
    ],
    [
      '{models: {prices: [{model: "x/y", inputPerMTok: 1, outputPerMTok: 1}, {model: "x/y", inputPerMTok: 2, outputPerMTok: 1}]}}',
      'models.prices[1].model is "x/y"; allowed: a model and a first day (`from`) that no row before has together',
    ],
    [
      '{tools: {fetch: {allowPrivate: ["http://wiki.lan/"]}}}',
      'tools.fetch.allowPrivate[0] is "http://wiki.lan/"; allowed: a host such as "wiki.lan", "10.0.0.7:8080" or "[fd00::1]"',
    ],
    [
      '{agents: {defaults: {harness: {pinned: "auto"}}}}',
      'agents.defaults.harness.pinned is "auto"; allowed: the id of a harness, which "auto" is not',
    ],
    ['{lanes: {mian: 3}}', 'lanes.mian is not a known key; did you mean "main"?'],
    ['{lanes: {xyzzy: 3}}', 'lanes.xyzzy is not a known key (known here: main, subagent, cron, batch)'],
    [
      '{agents: {defaults: {heartbeat: {every: "soon"}}}}',
      'agents.defaults.heartbeat.every is "soon"; allowed: 0 to 3650d, as a number of milliseconds or a text such as "30m" or "1h30m"',
    ],
    [
      '{shutdown: {graceMs: 9999999999}}',
      'shutdown.graceMs is 9999999999; allowed: 0 to 24d, as a number of milliseconds or a text such as "30m" or "1h30m"',
    ],
    [
      '{agents: {defaults: {userTimezone: "Mars/Base"}}}',
      'agents.defaults.userTimezone is "Mars/Base"; allowed: an IANA time zone such as "Europe/Berlin" or "UTC"',
    ],
    [
      '{agents: {defaults: {model: "claude"}}}',
      'agents.defaults.model is "claude"; allowed: "anthropic/<model>", or an alias of "models"',
    ],
    [
      '{agents: {defaults: {model: "fats", models: {fast: "anthropic/claude-haiku"}}}}',
      'agents.defaults.model is "fats"; allowed: "anthropic/<model>", or an alias of "models" (did you mean "fast"?)',
    ],
    [
      '{agents: {defaults: {models: {fast: "claude"}}}}',
      'agents.defaults.models.fast is "claude"; allowed: "anthropic/<model>"',
    ],
    ['{agents: {list: []}}', 'agents.list is []; allowed: at least 1 item'],
    ['{agents: {list: [{id: "a"}, {id: "a"}]}}', 'agents.list[1].id is "a"; allowed: an id that no other agent has'],
    [
      '{agents: {list: [{id: "A b"}]}}',
      'agents.list[0].id is "A b"; allowed: 1 to 64 characters of a-z 0-9 _ -, beginning with a letter or digit',
    ],
    ['{agents: {list: [{}]}}', 'agents.list[0].id is missing; allowed: a text'],
    [
      '{agents: {list: [{id: "a", contextPruning: {softTrimRatio: 0.9}}]}}',
      'agents.list[0].contextPruning.hardClearRatio is 0.5; allowed: at least softTrimRatio (0.9)',
    ],
    ['{owner: 3}', 'owner is 3; allowed: an object'],
    ['[]', '(file) is []; allowed: an object'],
    [
      '{channels: {webhook: {url: "ftp://x"}}}',
      'channels.webhook.url is "ftp://x"; allowed: a URL that begins with http:// or https://',
    ],
    [
      '{channels: {webhook: {secret: "hunter2"}}}',
      'channels.webhook.secret is a text of 7 characters; allowed: "whsec_" and at least 12 bytes in base64',
    ],
    [
      '{models: {providers: {anthropic: {apiKey: "a\\nb"}}}}',
      'models.providers.anthropic.apiKey is a text of 3 characters; allowed: printable ASCII characters',
    ],
    [
      '{agents: {defaults: {promptMode: "full", prompt_mode: "none"}}}',
      'agents.defaults.promptMode is given twice, as "prompt_mode" and as "promptMode"',
    ],
    ['{"__proto__": {"polluted": true}}', '__proto__ is not a known key'],
  ])('%s is refused with path, value and what is allowed', async (file, expected) => {
    const faults = await faultsOf(file);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(expected);
  });

  test('text that is not JSON5 is refused with the place', async () => {
    expect((await faultsOf('{lanes: }'))[0]).toMatch(/holdfast\.json is not JSON5: invalid character '}' at 1:9$/);
  });

  test('text in another encoding than UTF-8 and UTF-16 is refused', async () => {
    const latin = Buffer.from('{agents: {list: [{id: "main", name: "K\xf6ln"}]}}', 'latin1');
    expect((await faultsOf(latin))[0]).toMatch(/holdfast\.json is not text in UTF-8 .*; save it in UTF-8$/);
  });

  test('a file that is named but not there is refused', () => {
    expect(() => loadConfig({ env: { HOLDFAST_CONFIG: 'nowhere.json' }, cwd })).toThrow(
      /HOLDFAST_CONFIG cannot read .*nowhere\.json: ENOENT/,
    );
  });
});

describe('in the environment', () => {
  test.each([
    ['HOLDFAST_PORT', '70000', 'HOLDFAST_PORT is "70000"; allowed: a whole number from 0 to 65535'],
    ['HOLDFAST_PORT', '80x', 'HOLDFAST_PORT is "80x"; allowed: a whole number from 0 to 65535'],
    ['HOLDFAST_LEASE_MS', '499', 'HOLDFAST_LEASE_MS is "499"; allowed: a whole number from 500 to 2147483647'],
    ['HOLDFAST_RECONCILE_MS', '0', 'HOLDFAST_RECONCILE_MS is "0"; allowed: a whole number from 10 to 2147483647'],
    [
      'HOLDFAST_LOG_LEVEL',
      'loud',
      'HOLDFAST_LOG_LEVEL is "loud"; allowed: fatal, error, warn, info, debug, trace, silent',
    ],
    ['HOLDFAST_LOG_FILES', 'many', 'HOLDFAST_LOG_FILES is "many"; allowed: off, or a count and a size such as 10x10MB'],
    ['HOLDFAST_LOG_FORMAT', 'xml', 'HOLDFAST_LOG_FORMAT is "xml"; allowed: pretty, json'],
    [
      'HOLDFAST_CONCURRENCY',
      'main=4,side=2',
      'HOLDFAST_CONCURRENCY is "main=4,side=2"; allowed: 0 to 1000 for every lane, or a list',
    ],
    ['REDIS_URL', 'http://x', 'allowed: a URL that begins with redis:// or rediss://'],
    ['ANTHROPIC_BASE_URL', 'localhost', 'allowed: a URL that begins with http:// or https://'],
  ])('%s=%s is refused', async (name, value, expected) => {
    const faults = await faultsOf('{}', { [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(expected);
  });

  test('a workspace that is the data directory, also by a link, is refused', async () => {
    const file = '{workspace: {path: "/srv/hold"}, agents: {list: [{id: "a", workspace: "/srv/hold/"}]}}';
    const faults = await faultsOf(file, { HOLDFAST_DATA_DIR: '/srv/hold' });
    const allowed = 'allowed: a folder that is not the data directory, which has the keys and the database';
    expect(faults).toEqual([
      `workspace.path is "/srv/hold"; ${allowed}`,
      `agents.list[0].workspace is "/srv/hold/"; ${allowed}`,
    ]);
    const [dataDir, link] = [join(cwd, 'data'), join(cwd, 'link')];
    await mkdir(dataDir);
    await symlink(dataDir, link);
    expect(await faultsOf('{workspace: {path: "./link"}}', { HOLDFAST_DATA_DIR: dataDir })).toEqual([
      `workspace.path is "${link}"; ${allowed}`,
    ]);
  });

  test('a deeply nested file is one fault, at any depth', async () => {
    for (const depth of [65, 5_000, 100_000]) {
      const faults = await faultsOf(`{messages: ${'['.repeat(depth)}${']'.repeat(depth)}}`);
      expect(faults).toHaveLength(1);
      expect(faults[0]).toContain('nested deeper than 64 levels');
    }
  });

  test('an API key of fewer than 16 characters is refused, and not repeated', async () => {
    const file = '{api: {keys: ["short-key", {name: "ops", key: "fifteen-chars-x"}]}}';
    const faults = await faultsOf(file, { HOLDFAST_API_KEY: 'admin-key' });
    expect(faults).toHaveLength(3);
    for (const fault of faults) expect(fault).toContain('16 to 512 visible ASCII characters');
    expect(faults.join()).not.toMatch(/short-key|fifteen-chars|admin-key/);
  });

  test('a URL that may hold a password is not repeated (G31)', async () => {
    const faults = await faultsOf('{}', { DATABASE_URL: 'mysql://me:hunter2@db/x', HOLDFAST_API_KEY: 'two words' });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toMatch(/hunter2|two words/);
  });
});

test('all faults of file and environment are reported together', async () => {
  const faults = await faultsOf('{lanes: {main: -1}, bogus: 1, agents: {defaults: {model: "x", thinking: "a lot"}}}', {
    HOLDFAST_PORT: 'x',
  });
  const paths = faults.map((fault) => fault.split(' ')[0]);
  expect(new Set(paths)).toEqual(
    new Set(['HOLDFAST_PORT', 'agents.defaults.model', 'agents.defaults.thinking', 'bogus', 'lanes.main']),
  );
  expect(paths).toHaveLength(5);
});

test('the error is one text with every fault on a separate line', () => {
  const load = () => loadConfig({ env: { HOLDFAST_PORT: 'x', HOLDFAST_LEASE_MS: '1' }, cwd });
  expect(load).toThrow(/^the configuration has 2 faults:\n {2}HOLDFAST_PORT .*\n {2}HOLDFAST_LEASE_MS .*$/);
});
