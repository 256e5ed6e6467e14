import { expect, test } from 'vitest';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

/**
 * The reply costs 1,000 micro-dollars for each 100 tokens of its answer, with the price of the
 * default model.
 */
const cost = (outputTokens: number): string =>
  `[[usage: input=0 output=${outputTokens} cache-read=0 cache-write=0]] [[reply: ok]]`;

const say = (session: string, text: string) => holder.rig.settle(session, text);

test('the most expensive turns, sessions and crons come first, each with its cost; a deleted cron is left out', async () => {
  const { rig } = holder;
  await say('one-large', cost(500));
  await say('two-small', cost(300));
  await say('two-small', cost(400));
  const cron = (
    await rig.post('/v1/crons', {
      name: 'nightly',
      schedule: { kind: 'every', everyMs: 3_600_000 },
      payload: { kind: 'agentTurn', message: cost(200) },
    })
  ).body;
  await rig.post(`/v1/crons/${cron.id}/run`);
  await rig.work(`agent:main:cron:${cron.id}`);
  const { body } = await rig.get('/v1/usage/top');
  expect(body.turns.map(({ costMicros }: { costMicros: number }) => costMicros)).toEqual([5000, 4000, 3000, 2000]);
  expect(body.turns[0]).toMatchObject({
    sessionKey: 'agent:main:one-large',
    kind: 'message',
    costUsd: 0.005,
    simulated: true,
  });
  expect(body.sessions).toMatchObject([
    { sessionKey: 'agent:main:two-small', turns: 2, costMicros: 7000, costUsd: 0.007, simulated: true },
    { sessionKey: 'agent:main:one-large', turns: 1, costMicros: 5000 },
    { turns: 1, costMicros: 2000 },
  ]);
  expect(body.crons).toEqual([
    { id: cron.id, name: 'nightly', turns: 1, costMicros: 2000, costUsd: 0.002, simulated: true },
  ]);
  expect(body).toMatchObject({ turnsRead: 4, isCapped: false, simulated: true });
  const first = (await rig.get('/v1/usage/top?limit=1')).body;
  expect([first.turns.length, first.sessions.length, first.crons.length]).toEqual([1, 1, 1]);
  await rig.ask('DELETE', `/v1/crons/${cron.id}`);
  expect((await rig.get('/v1/usage/top')).body.crons).toEqual([]);
});

test('turns before the time span do not count', async () => {
  const { rig } = holder;
  await say('counted', cost(100));
  const later = new Date(Date.now() + 86_400_000).toISOString();
  expect((await rig.get(`/v1/usage/top?from=${later}`)).body).toEqual({
    turns: [],
    sessions: [],
    crons: [],
    turnsRead: 0,
    isCapped: false,
    simulated: false,
  });
});

test('a time or a number that cannot be read is refused by its name', async () => {
  const { rig } = holder;
  expect(await rig.get('/v1/usage/top?from=yesterday')).toMatchObject({
    status: 400,
    body: { errors: [{ path: 'from', message: expect.stringContaining('such as 2026-11-25T08:00:00Z') }] },
  });
  expect(await rig.get('/v1/usage/top?limit=0')).toMatchObject({ status: 400, body: { errors: [{ path: 'limit' }] } });
});
