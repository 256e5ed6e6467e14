// The catalogue of models and the states of keys over HTTP.
import { afterAll, expect, test } from 'vitest';
import { startScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { eventually, useApiRig } from '../../api/use-api-rig.ts';

const scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
afterAll(() => scripted.close());
const baseUrl = `${scripted.url}/v1`;
const keys = (fault: string, other = fault) => [
  { name: 'first', key: `key-of-first[[error: ${fault} times=always]]` },
  { name: 'second', key: `key-of-second[[error: ${other} times=always]]` },
];
const holder = useApiRig({
  file: {
    models: {
      providers: {
        closed: { api: 'openai-compatible', baseUrl, keys: keys('401') },
        busy: { api: 'openai-compatible', baseUrl, keys: keys('429 retry-after=600', '429 retry-after=900') },
      },
    },
  },
});

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

test('providers are listed with the states of their keys and without secrets, and an operator lifts what holds a key back (G31)', async () => {
  const { rig } = holder;
  const listed = async () => {
    const { status, body } = await rig.get('/v1/providers');
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain('key-of-');
    return body.items as { name: string; keys: object[] }[];
  };
  const ok = (name: string) => ({ name, state: 'ok', model: null, until: null, reason: null });
  expect(await listed()).toEqual([
    { name: 'anthropic', api: 'anthropic', baseUrl: null, keys: [ok('default')] },
    { name: 'closed', api: 'openai-compatible', baseUrl, keys: [ok('first'), ok('second')] },
    { name: 'busy', api: 'openai-compatible', baseUrl, keys: [ok('first'), ok('second')] },
  ]);
  const ask = (session: string, model: string) => rig.settle(session, '[[reply: here]]', { model });
  const failed = await ask('closed', 'closed/m');
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'model_unauthorized' } });
  const { steps } = (await rig.get(`/v1/turns/${failed.turnId}`)).body;
  const calls = steps.flatMap((step: { calls: { key: string }[] }) => step.calls);
  expect(calls.map(({ key }: { key: string }) => key).toSorted()).toEqual(['first', 'second']);
  const waiting = await ask('busy', 'busy/m');
  expect(waiting).toMatchObject({ status: 'claimed', why: { code: 'rate_limited' } });
  // For the key that is back first.
  const waitsMs = Date.parse(waiting.why.until) - Date.parse(waiting.why.since);
  expect(waitsMs).toBeGreaterThan(590_000);
  expect(waitsMs).toBeLessThan(700_000);
  const disabled = { state: 'disabled', model: null, until: null, reason: expect.stringMatching(/\S/) };
  const cooling = { state: 'cooling', model: 'busy/m', until: expect.any(String), reason: expect.stringMatching(/\S/) };
  expect((await listed()).slice(1).map((provider) => provider.keys)).toMatchObject([
    [disabled, disabled],
    [cooling, cooling],
  ]);
  const { body: lifted } = await rig.post('/v1/models/unblock', { model: 'closed/m' });
  expect(lifted.lifted).toMatchObject([{ model: 'closed/*' }, { model: 'closed/*' }]);
  expect((await listed())[1]?.keys).toEqual([ok('first'), ok('second')]);
  // Its keys are asked again, once the worker that has stored their state believes what it reads.
  const asked = scripted.requestCount;
  const askAgain = async () => {
    expect(await ask('closed', 'closed/m')).toMatchObject({ status: 'failed' });
    return scripted.requestCount - asked;
  };
  await eventually(askAgain).toBe(2);
});
