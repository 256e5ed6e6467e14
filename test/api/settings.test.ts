import { readdirSync } from 'node:fs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { LiveConfig, loadConfigWithSources, type Config } from '../../src/config.ts';
import { useApiRig } from './use-api-rig.ts';

const VIEWER = 'viewer-key-0123456789';
const OPERATOR = 'operator-key-0123456789';
const cwd = mkdtempSync(join(tmpdir(), 'holdfast-settings-'));
afterAll(() => rmSync(cwd, { recursive: true }));

const live = new LiveConfig(() =>
  loadConfigWithSources({
    cwd,
    env: { DATABASE_URL: 'postgres://u:canary-of-database@h/d', HOLDFAST_API_KEY: 'canary-of-admin-0123456789' },
  }),
);
const keys: Config['api']['keys'] = [
  { name: 'viewer', role: 'viewer', key: VIEWER },
  { name: 'operator', role: 'operator', key: OPERATOR },
];
const holder = useApiRig({
  keys,
  context: { live },
});

test('an admin reads every setting with its source, and the facts about the environment', async () => {
  const { rig } = holder;
  const { status, body } = await rig.get('/v1/config');
  expect(status).toBe(200);
  expect(body.items).toHaveLength(live.settings.length);
  expect(body.items).toMatchObject(live.settings);
  const restart = (path: string) => body.items.find((item: { path: string }) => item.path === path).needsRestart;
  expect([restart('lanes.main'), restart('models.prices'), restart('runtime.port')]).toEqual([true, false, true]);
  expect(body.items).toContainEqual(
    expect.objectContaining({ path: 'runtime.databaseUrl', source: 'environment', at: 'DATABASE_URL' }),
  );
  expect(JSON.stringify(body)).not.toContain('canary');
  expect(body.model).toMatchObject({ isScripted: true });
  expect(body.versions).toMatchObject({ node: process.versions.node, queue: 'postgres', database: 'configured' });
  const [row] = await rig.rows(`select current_setting('server_version') as version`);
  const layout = readdirSync('migrations').toSorted().at(-1);
  expect(body.versions).toMatchObject({ postgres: row?.['version'], layout });
});

test.each([
  ['viewer', VIEWER],
  ['operator', OPERATOR],
])('a key with the role %s does not read the configuration', async (_role, key) => {
  const { status, body } = await holder.rig.get('/v1/config', { authorization: `Bearer ${key}` });
  expect(status).toBe(403);
  expect(body.code).toBe('forbidden');
});
