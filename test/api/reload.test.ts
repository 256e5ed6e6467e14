// The configuration is reloaded while the API runs: keys are rotated with overlap, bounds change,
// and an invalid configuration changes nothing.
import { expect, test } from 'vitest';
import { ConfigError, type Config } from '../../src/config.ts';
import { useApiRig } from './use-api-rig.ts';

const OLD = 'old-key-of-the-deployer-0001';
const NEW = 'new-key-of-the-deployer-0002';
const keyOf = (name: string, key: string) => ({ name, key, role: 'viewer' as const });

let changes: () => Partial<Config> = () => ({});
const holder = useApiRig({ keys: [keyOf('deployer', OLD)], changes: () => changes() });

const reload = () => holder.rig.ask('PATCH', '/v1/config', { payload: { reload: true } });
const statusWith = async (key: string) =>
  (await holder.rig.get('/v1/sessions', { authorization: `Bearer ${key}` })).status;

test('a key is replaced with overlap: both are valid after one reload, the old one is refused after the next (G32)', async () => {
  expect([await statusWith(OLD), await statusWith(NEW)]).toEqual([200, 401]);
  const { api } = holder.rig.context.config;
  changes = () => ({ api: { ...api, keys: [keyOf('deployer', OLD), keyOf('deployer-2', NEW)] } });
  expect((await reload()).status).toBe(200);
  expect([await statusWith(OLD), await statusWith(NEW)]).toEqual([200, 200]);
  changes = () => ({ api: { ...api, keys: [keyOf('deployer-2', NEW)] } });
  const { body } = await reload();
  expect([await statusWith(OLD), await statusWith(NEW)]).toEqual([401, 200]);
  expect(body.pid).toBe(process.pid);
  expect(body.items.every((item: { needsRestart: boolean }) => !item.needsRestart)).toBe(true);
  expect(JSON.stringify(body)).not.toMatch(/old-key|new-key/);
});

test('the name of the environment changes with a reload, and is readable without a key', async () => {
  const { api } = holder.rig.context.config;
  changes = () => ({ api: { ...api, environment: 'staging' } });
  expect((await reload()).status).toBe(200);
  const answer = await holder.rig.get('/readyz', { authorization: '' });
  expect(answer.body).toMatchObject({ environment: 'staging', version: '0.0.0' });
});

test('the difference names the settings that need a restart, and a reload leaves them unchanged', async () => {
  const { limits, lanes } = holder.rig.context.config;
  changes = () => ({
    limits: { ...limits, waitingPerSession: 1, pageItems: limits.pageItems + 1 },
    lanes: { ...lanes, main: lanes.main + 1 },
  });
  const compared = await holder.rig.get('/v1/config/diff');
  expect(compared.body.items).toEqual(
    expect.arrayContaining([
      {
        path: 'limits.waitingPerSession',
        value: limits.waitingPerSession,
        next: 1,
        isSecret: false,
        needsRestart: false,
        hasEffect: true,
      },
      {
        path: 'limits.pageItems',
        value: limits.pageItems,
        next: limits.pageItems + 1,
        isSecret: false,
        needsRestart: true,
        hasEffect: true,
      },
      {
        path: 'lanes.main',
        value: lanes.main,
        next: lanes.main + 1,
        isSecret: false,
        needsRestart: true,
        hasEffect: true,
      },
    ]),
  );
  expect(holder.rig.context.config.limits.waitingPerSession).toBe(limits.waitingPerSession);
  await reload();
  const running = holder.rig.context.config;
  expect(running.limits).toEqual({ ...limits, waitingPerSession: 1 });
  expect(running.lanes).toEqual(lanes);
  const left = await holder.rig.get('/v1/config/diff');
  expect(left.body.items.map(({ path }: { path: string }) => path)).not.toContain('limits.waitingPerSession');
  expect(holder.rig.context.live.settings).toContainEqual(
    expect.objectContaining({ path: 'limits.waitingPerSession', value: 1 }),
  );
});

test('an invalid configuration changes nothing, and the answer and the log name the fault', async () => {
  const before = holder.rig.context.config.limits;
  const fault = {
    path: 'agents.defaults.maxSteps',
    value: 0,
    allowed: 'at least 1',
    message: 'is 0; allowed: at least 1',
  };
  changes = () => {
    throw new ConfigError([fault]);
  };
  const { status, body } = await reload();
  expect(status).toBe(409);
  expect(body).toMatchObject({ code: 'conflict', errors: [{ path: fault.path, message: fault.message }] });
  expect((await holder.rig.get('/v1/config/diff')).status).toBe(409);
  expect(holder.rig.context.config.limits).toBe(before);
  expect(holder.rig.logLines.join('')).toContain(
    'Configuration was not reloaded; the running configuration stays in use',
  );
});

test('a batch that names no failure rate has that of the configuration', async () => {
  const { rig } = holder;
  const items = [{ text: 'x' }];
  const rateOf = async (body: object): Promise<number> => {
    const { id } = (await rig.post('/v1/batches', body)).body;
    return (await rig.get(`/v1/batches/${id}`)).body.maxFailurePercent;
  };
  expect(await rateOf({ items })).toBe(50);
  changes = () => ({ batches: { ...rig.turns.config.batches, maxFailurePercent: 5 } });
  await reload();
  expect(await rateOf({ items })).toBe(5);
  expect(await rateOf({ items, maxFailurePercent: 20 })).toBe(20);
});
