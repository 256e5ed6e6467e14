import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ensureApiKey, ensureWebhookSecrets, loadConfig, type Config } from '../../src/config.ts';

let cwd: string;
let config: Config;

beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-key-'));
  config = loadConfig({ env: {}, cwd });
});
afterEach(() => rm(cwd, { recursive: true }));

test('the admin key is made once and only its owner may read it', async () => {
  const made = await ensureApiKey(config);
  expect(made).toMatchObject({ path: join(cwd, '.holdfast/api-key'), wasGenerated: true });
  expect(made.key).toMatch(/^hf_[\w-]{43}$/);
  expect((await stat(made.path ?? '')).mode & 0o777).toBe(0o600);
  expect(await ensureApiKey(config)).toEqual({ ...made, wasGenerated: false });
});

test('processes that start simultaneously get the same key, and leave no temporary file', async () => {
  const keys = await Promise.all(Array.from({ length: 50 }, () => ensureApiKey(config)));
  expect(new Set(keys.map((each) => each.key)).size).toBe(1);
  expect(keys.filter((each) => each.wasGenerated)).toHaveLength(1);
  expect(await readdir(join(cwd, '.holdfast'))).toEqual(['api-key']);
});

test('a key of the environment wins and is not written down', async () => {
  const withKey = loadConfig({ env: { HOLDFAST_API_KEY: 'mine-0123456789abcdef' }, cwd });
  expect(await ensureApiKey(withKey)).toEqual({ key: 'mine-0123456789abcdef', path: null, wasGenerated: false });
  expect(await readdir(cwd)).toEqual([]);
});

test('an empty key file is refused by its path', async () => {
  await ensureApiKey(config);
  await writeFile(join(cwd, '.holdfast/api-key'), '\n');
  await expect(ensureApiKey(config)).rejects.toThrow(/api-key is empty$/);
});

test('the webhook secret has the form of Standard Webhooks and stays', async () => {
  const [secret] = await ensureWebhookSecrets(config);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await ensureWebhookSecrets(config)).toEqual([secret]);
  expect((await readFile(join(cwd, '.holdfast/secrets/webhook-secret'), 'utf8')).trim()).toBe(secret);
  expect((await stat(join(cwd, '.holdfast/secrets'))).mode & 0o777).toBe(0o700);
});

test('a webhook secret that an earlier version left above the workspace is moved', async () => {
  const old = join(cwd, '.holdfast/webhook-secret');
  await mkdir(join(cwd, '.holdfast'));
  await writeFile(old, 'whsec_b2xk\n', { mode: 0o600 });
  const secrets = await Promise.all(Array.from({ length: 10 }, () => ensureWebhookSecrets(config)));
  expect(new Set(secrets.flat())).toEqual(new Set(['whsec_b2xk']));
  expect(await readdir(join(cwd, '.holdfast'))).toEqual(['secrets']);
});
