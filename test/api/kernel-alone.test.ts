// An API without features: the keys of the configuration open it, and messages are accepted.
import { expect, onTestFinished, test } from 'vitest';
import { createApi } from '../../src/api/create-api.ts';
import { listRoutes } from '../../src/api/route-table.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('without any feature, the API accepts messages with the keys of the configuration', async () => {
  const { key } = (await holder.rig.post('/v1/keys', { name: 'stored', role: 'viewer' })).body as { key: string };
  const app = createApi(holder.rig.context, { routes: await listRoutes([]), parts: [] });
  onTestFinished(() => app.close());
  const ask = async (
    method: 'GET' | 'POST',
    url: string,
    { as = ADMIN_KEY, payload }: { as?: string; payload?: object } = {},
  ) => app.inject({ method, url, headers: { authorization: `Bearer ${as}` }, ...(payload && { payload }) });
  expect((await ask('POST', '/v1/sessions/alone/messages', { payload: { text: 'Hello' } })).statusCode).toBe(202);
  expect((await ask('GET', '/v1/turns')).statusCode).toBe(200);
  expect((await ask('GET', '/v1/turns', { as: key })).statusCode).toBe(401);
  expect((await ask('GET', '/v1/keys')).statusCode).toBe(404);
  expect((await ask('GET', '/v1/chat/completions')).json()).toMatchObject({ code: 'not_found' });
  expect((await ask('GET', '/readyz')).json()).toMatchObject({ status: 'ready', troubles: [] });
  expect((await ask('GET', '/metrics')).body).toContain('holdfast_database_up 1');
});
