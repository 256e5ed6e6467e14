// The catalogue of models over HTTP.
import { expect, test } from 'vitest';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

test('the catalogue has the models of all providers, with their prices of today and who uses them', async () => {
  const { rig } = holder;
  const { status, body } = await rig.get('/v1/models/catalogue');
  expect(status).toBe(200);
  const { model } = rig.turns.config.agents.defaults;
  const used = body.items.filter(({ usedBy }: { usedBy: string[] }) => usedBy.length > 0);
  expect(used).toMatchObject([{ model, usedBy: expect.arrayContaining(['agent "main"']), inputPerMTok: 2 }]);
});

test('a provider narrows it; one that is not listed has none, and an unknown parameter is refused by name', async () => {
  const { rig } = holder;
  const { body } = await rig.get('/v1/models/catalogue?provider=openai');
  expect(body.items.length).toBeGreaterThan(10);
  expect(body.items.every(({ model }: { model: string }) => model.startsWith('openai/'))).toBe(true);
  expect((await rig.get('/v1/models/catalogue?provider=nothing')).body).toEqual({ items: [] });
  const refused = await rig.get('/v1/models/catalogue?providers=openai');
  expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'providers' }] } });
});
