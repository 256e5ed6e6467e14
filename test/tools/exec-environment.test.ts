// Which variables of the service's environment a command can see.
import { expect, test } from 'vitest';
import { execEnvironment } from '../../src/tools/start-shell.ts';

function isVisible(name: string, value = 'value'): boolean {
  return name in execEnvironment({ [name]: value }, 'key');
}

test.each([
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_BASE_URL',
  'anthropic_auth_token',
  'HOLDFAST_API_KEY',
  'HOLDFAST_CONFIG',
  'DATABASE_URL',
  'REDIS_URL',
  'PGPASSWORD',
  'PGPASSFILE',
  'DB_PWD',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'GITHUB_TOKEN',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'SSH_AUTH_SOCK',
  'npm_config_//registry.example/:_authToken',
  'GITLAB_PAT',
])('%s is a secret by its name (G31)', (name) => {
  expect(isVisible(name)).toBe(false);
});

test.each([
  ['a password in a URL', 'postgres://user:password@host/database'],
  ['a token in a URL', 'https://token@host/'],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----\nabc'],
  ['a token of a code host', 'ghp_abcdef'],
  ['a key of a model provider', 'sk-ant-abc'],
  ['a signed token', 'eyJhbGciOiJI.eyJzdWIiOiIx.c2ln'],
])('%s is a secret by its value (G31)', (_title, value) => {
  expect(isVisible('INNOCENT', value)).toBe(false);
});

test.each(['PATH', 'HOME', 'LANG', 'PWD', 'OLDPWD', 'TMPDIR', 'NODE_ENV', 'GIT_AUTHOR_NAME', 'EDITOR'])(
  '%s is visible',
  (name) => {
    expect(isVisible(name)).toBe(true);
  },
);

test('a URL without a user is visible', () => {
  expect(isVisible('HTTP_PROXY', 'http://proxy.example:3128/')).toBe(true);
});
