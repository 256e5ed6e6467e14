// Values of the environment in files, as Docker, Kubernetes and systemd mount secrets.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, loadConfig, loadConfigWithSources, secretsOf } from '../../src/config.ts';
import { loadClientSettings } from '../../src/config/process-environment.ts';
import { isSecretVariable } from '../../src/config/secrets.ts';

/** A folder with these files. */
function folderWith(files: Record<string, string | Uint8Array>): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function faultsOf(env: Record<string, string>, cwd: string): string[] {
  try {
    loadConfig({ env, cwd });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.issues.map((issue) => `${issue.path} ${issue.message}`);
  }
}

const url = 'postgres://me:canary-of-the-file@db.internal/holdfast';

test('every secret can come from a file, without the white space at its end, and is kept out of logs (G31)', () => {
  const cwd = folderWith({
    database: Buffer.from(`\uFEFF${url}\r\n`, 'utf16le'),
    redis: 'redis://:canary-of-redis@redis.internal:6379\n',
    key: 'hf_key-of-the-service\n',
    anthropic: 'sk-ant-of-the-file\r\n',
  });
  const env = {
    DATABASE_URL_FILE: join(cwd, 'database'),
    REDIS_URL_FILE: 'redis',
    HOLDFAST_API_KEY_FILE: 'key',
    ANTHROPIC_API_KEY_FILE: 'anthropic',
  };
  const { config, settings } = loadConfigWithSources({ env, cwd, isTty: false });
  expect(config.runtime).toMatchObject({
    databaseUrl: url,
    redisUrl: 'redis://:canary-of-redis@redis.internal:6379',
    apiKey: 'hf_key-of-the-service',
    anthropicApiKey: 'sk-ant-of-the-file',
  });
  expect(secretsOf(config)).toEqual(
    expect.arrayContaining([
      'canary-of-the-file',
      'canary-of-redis',
      config.runtime.apiKey,
      config.runtime.anthropicApiKey,
    ]),
  );
  expect(settings.find(({ path }) => path === 'runtime.databaseUrl')).toMatchObject({
    source: 'environment',
    at: 'DATABASE_URL_FILE',
  });
  expect(loadClientSettings({}, env, cwd).apiKey).toBe('hf_key-of-the-service');
});

test('a file that is missing, empty, too large or no file, and a value given twice, are faults with their next step', () => {
  const latin = Buffer.from('hf_schl\xfcssel', 'latin1');
  const cwd = folderWith({ empty: ' \n', large: 'x'.repeat(65_537), key: 'hf_key-of-the-service', latin });
  mkdirSync(join(cwd, 'folder'));
  const env = {
    DATABASE_URL_FILE: 'missing',
    REDIS_URL_FILE: 'empty',
    HOLDFAST_API_KEY: 'hf_another-key-0123456789',
    HOLDFAST_API_KEY_FILE: 'key',
    ANTHROPIC_API_KEY_FILE: 'folder',
  };
  const allowed = (name: string) => `allowed: the path of a file that holds the value of ${name}`;
  expect(faultsOf(env, cwd)).toEqual([
    `DATABASE_URL_FILE names ${cwd}/missing, which does not exist; ${allowed('DATABASE_URL')}`,
    `REDIS_URL_FILE names ${cwd}/empty, which is empty; ${allowed('REDIS_URL')}`,
    `HOLDFAST_API_KEY_FILE is set together with HOLDFAST_API_KEY: unset one of them; ${allowed('HOLDFAST_API_KEY')}`,
    `ANTHROPIC_API_KEY_FILE names ${cwd}/folder, which is not a file; ${allowed('ANTHROPIC_API_KEY')}`,
  ]);
  expect(faultsOf({ DATABASE_URL_FILE: 'large' }, cwd)).toEqual([
    expect.stringContaining('which has more than 65536 bytes'),
  ]);
  expect(faultsOf({ HOLDFAST_API_KEY_FILE: 'latin' }, cwd)).toEqual([
    expect.stringContaining('which is not text in UTF-8 (or in UTF-16 with a byte order mark); allowed: '),
  ]);
});

test('a fault of the value names the variable and not the value, and commands do not see where secrets are (G31)', () => {
  const cwd = folderWith({ key: 'canary' });
  expect(faultsOf({ HOLDFAST_API_KEY_FILE: 'key' }, cwd).join('\n')).toMatch(/^HOLDFAST_API_KEY is a text of 6 char/);
  expect(isSecretVariable('DATABASE_URL_FILE', '/run/secrets/database-url')).toBe(true);
});
