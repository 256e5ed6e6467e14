// Goal: a key, a token and the tokens of an address ask no more than they may, and none of them
// spends what another has (G27). Method: keys with small limits, requests at one time.
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { openEvents } from './event-client.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const LIMITS = { requestsPerMinute: 10, requestsPerMinuteOfAddress: 16 };
const holder = useApiRig({ api: { tokens: LIMITS }, limits: { waitSeconds: 60 } });

const bearer = (text: string) => ({ authorization: `Bearer ${text}` });

async function makeKey(limits: object): Promise<{ key: string; headers: { authorization: string } }> {
  const made = await holder.rig.post('/v1/keys', { name: `k${newId<string>()}`, role: 'operator', limits });
  expect(made).toMatchObject({ status: 201, body: { limits } });
  return { key: made.body.key, headers: bearer(made.body.key) };
}

const statuses = async (requests: Promise<{ status: number }>[]): Promise<number[]> =>
  (await Promise.all(requests)).map(({ status }) => status).toSorted((a, b) => a - b);
const times = <Made>(count: number, make: (n: number) => Made): Made[] =>
  Array.from({ length: count }, (_, n) => make(n));

describe('requests per minute', () => {
  test('of a key: above them 429 with the time after which one is accepted, and other keys go on (G27)', async () => {
    const { headers } = await makeKey({ requestsPerMinute: 5 });
    expect(await statuses(times(6, () => holder.rig.get('/v1/keys', headers)))).toEqual([403, 403, 403, 403, 403, 429]);
    const refused = await holder.rig.get('/v1/turns', headers);
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
    expect(refused.body.detail).toContain('5 requests per minute');
    const seconds = Number(refused.headers['retry-after']);
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(12);
    expect((await holder.rig.get('/v1/turns', (await makeKey({})).headers)).status).toBe(200);
  });

  test('of a token: its own, which are not those of its key or of other tokens (G27)', async () => {
    const { headers } = await makeKey({ requestsPerMinute: 3 });
    const ask = async () =>
      (await holder.rig.post('/v1/tokens', { session: 'limited', allow: ['send'] }, headers)).body.token as string;
    const [first, second] = [await ask(), await ask()];
    const send = (token: string) => holder.rig.post('/v1/sessions/limited/messages', { text: 'Hi' }, bearer(token));
    const sent = [...(await statuses(times(5, () => send(first)))), ...(await statuses(times(6, () => send(first))))];
    expect(sent).toEqual([...Array<number>(10).fill(202), 429]);
    expect((await send(second)).status).toBe(202);
    expect((await holder.rig.get('/v1/turns', headers)).status).toBe(200);
    expect((await holder.rig.get('/v1/turns', headers)).status).toBe(429);
  });

  test('of the tokens of one address; a proxy on this machine is not one (G27)', async () => {
    const { headers } = await makeKey({});
    const asked = times(4, () => holder.rig.post('/v1/tokens', { session: 'limited', allow: ['send'] }, headers));
    const tokens = (await Promise.all(asked)).map(({ body }) => body.token as string);
    const from = (remoteAddress: string) =>
      times(17, (n) =>
        holder.rig.ask('POST', '/v1/sessions/limited/messages', {
          payload: { text: 'Hi' },
          headers: bearer(tokens[n % 4]!),
          remoteAddress,
        }),
      );
    const counted = await statuses(from('203.0.113.7'));
    expect(counted).toEqual([...Array<number>(16).fill(202), 429]);
    expect(await statuses(from('203.0.113.8').slice(0, 4))).toEqual([202, 202, 202, 202]);
  });
});

test('a token has eight streams and waits open at most, and another one when one of them ends (G28)', async () => {
  const { headers } = await makeKey({});
  await holder.rig.settle('held', 'Hi');
  const url = `${await holder.rig.listen()}/v1/events?session=held`;
  const { body } = await holder.rig.post('/v1/tokens', { session: 'held', allow: ['read'] }, headers);
  const streams = await Promise.all(times(8, () => openEvents(url, undefined, body.token)));
  expect(streams.map(({ status }) => status)).toEqual(Array(8).fill(200));
  expect((await openEvents(url, undefined, body.token)).status).toBe(429);
  const other = await holder.rig.post('/v1/tokens', { session: 'held', allow: ['read'] }, headers);
  expect((await openEvents(url, undefined, other.body.token)).status).toBe(200);
  streams[0]!.leave();
  await streams[0]!.ended;
  await eventually(async () => (await openEvents(url, undefined, body.token)).status).toBe(200);
});

describe('messages in flight', () => {
  const send = (session: string, headers: Record<string, string>) =>
    holder.rig.post(`/v1/sessions/${session}/messages`, { text: 'Hi' }, headers);

  test('are no more than the key may have, however many it sends at once, until one is settled (G27)', async () => {
    const { headers } = await makeKey({ messagesInFlight: 3 });
    const answers = await Promise.all(times(8, (n) => send(`flight:${n % 4}`, headers)));
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).toBeLessThanOrEqual(3);
    for (const { status, body } of answers) if (status !== 202) expect(body.code).toBe('too_many_requests');
    // Those that came at once may each have counted another that was refused.
    for (let n = accepted.length; n < 3; n += 1) expect((await send('flight:rest', headers)).status).toBe(202);
    const refused = await send('flight:0', headers);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect(refused.body.detail).toContain('messages in flight for this key: 3');
    await holder.rig.work(accepted[0]!.body.message.sessionKey.replace('agent:main:', ''));
    expect((await send('flight:0', headers)).status).toBe(202);
  });

  test('count the delayed ones, and those of its tokens, and not those of other keys (G27)', async () => {
    const { headers } = await makeKey({ messagesInFlight: 2 });
    const { body } = await holder.rig.post('/v1/tokens', { session: 'flight:token', allow: ['send'] }, headers);
    const deliverAt = new Date(Date.now() + 3_600_000).toISOString();
    const delayed = await holder.rig.post('/v1/sessions/flight:later/messages', { text: 'Hi', deliverAt }, headers);
    expect(delayed.status).toBe(202);
    expect((await send('flight:token', bearer(body.token))).status).toBe(202);
    expect((await send('flight:token', bearer(body.token))).status).toBe(429);
    expect((await send('flight:more', headers)).status).toBe(429);
    expect((await send('flight:more', (await makeKey({ messagesInFlight: 1 })).headers)).status).toBe(202);
    const chat = { model: 'holdfast', messages: [{ role: 'user', content: 'Hi' }] };
    const refused = await holder.rig.app.inject({
      method: 'POST',
      url: '/v1/chat/completions',
      payload: chat,
      headers,
    });
    expect(refused.statusCode).toBe(429);
    expect(refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const tried = await holder.rig.post('/v1/agents/main/try', { text: 'Hi' }, headers);
    expect(tried).toMatchObject({ status: 429, body: { code: 'too_many_requests' } });
  });
});

test('a key shows its limits', async () => {
  const { headers: _headers } = await makeKey({ requestsPerMinute: 10 });
  const { body } = await holder.rig.get('/v1/keys');
  expect(body.items[0].limits).toEqual({ requestsPerMinute: 10, messagesInFlight: null });
  for (const limits of [{ requestsPerMinute: 0 }, { messagesInFlight: 1.5 }, { other: 1 }])
    expect((await holder.rig.post('/v1/keys', { name: 'x', role: 'viewer', limits })).status).toBe(400);
});
