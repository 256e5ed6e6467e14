// Access control: wrong keys, the Host header, and headers that decide about both and are sent
// twice.
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { createBuckets } from '../../src/api/attempts.ts';
import { ADMIN_KEY } from './api-rig.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ api: { hosts: ['agents.lan', 'agents.lan:8080'], publicUrl: 'https://agents.example/' } });

const right = `Bearer ${ADMIN_KEY}`;

/** Sends a request from a separate address, so that tests do not count for each other. */
async function from(remoteAddress: string, authorization?: string) {
  const headers = authorization === undefined ? {} : { authorization };
  return holder.rig.app.inject({ url: '/v1/sessions', remoteAddress, headers });
}

test('after ten wrong keys from one address, wrong keys are answered 429 and the right one is accepted', async () => {
  const wrong = async () => from('10.0.0.1', `Bearer ${ADMIN_KEY}-wrong`);
  for (let sent = 1; sent <= 10; sent += 1) expect((await wrong()).statusCode).toBe(401);
  const refused = await wrong();
  expect(refused.statusCode).toBe(429);
  expect(refused.json()).toMatchObject({ code: 'too_many_attempts', status: 429 });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect((await from('10.0.0.1', right)).statusCode).toBe(200);
  expect((await from('10.0.0.1')).statusCode).toBe(401);
  expect((await from('10.0.0.2', `Bearer ${ADMIN_KEY}-wrong`)).statusCode).toBe(401);
});

test('what was taken comes back one by one, and the stored addresses are bounded (G28)', () => {
  let nowMs = 0;
  const takeOne = createBuckets(() => nowMs);
  const rate = { size: 10, refillMs: 6000 };
  const take = (times: number): number[] => Array.from({ length: times }, () => takeOne('10.0.0.1', rate));
  expect(take(10).every((waitMs) => waitMs === 0)).toBe(true);
  expect(take(1)).toEqual([6000]);
  take(1000);
  nowMs += 6000;
  expect(take(2)).toEqual([0, 6000]);
  for (let n = 0; n < 10_000; n += 1) takeOne(`10.1.${n >> 8}.${n & 255}`, rate);
  expect(take(1)).toEqual([0]);
});

test.each([
  ['localhost:7420', 200],
  ['127.0.0.1', 200],
  ['[::1]:7420', 200],
  ['LOCALHOST', 200],
  ['agents.lan', 200],
  ['agents.lan:8080', 200],
  ['agents.example', 200],
  ['evil.example', 421],
  ['evil.example:7420', 421],
  ['localhost.evil.example', 421],
  ['127.0.0.1.evil.example', 421],
])('on a loopback address a request for the host %j is answered %d', async (host, status) => {
  for (const url of ['/v1/sessions', '/healthz']) {
    const answer = await holder.rig.app.inject({ url, headers: { host, authorization: right } });
    expect(answer.statusCode).toBe(status);
    if (status === 421) expect(answer.json()).toMatchObject({ code: 'misdirected' });
  }
});

test.each([
  ['http://evil.example/healthz', 'localhost', '421'],
  ['http://user@evil.example:7420/healthz', 'localhost', '421'],
  ['http://localhost/healthz', 'localhost', '200'],
])('an absolute request target is judged by its own host: %s', async (target, host, status) => {
  const answer = await send([`GET ${target} HTTP/1.1`, `Host: ${host}`]);
  expect(answer.split(' ', 2)[1]).toBe(status);
});

/** The answer to these bytes, as text. */
async function send(lines: string[]): Promise<string> {
  const { port } = new URL(await holder.rig.listen());
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.end(`${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
  });
}

test.each([
  ['Host', ['Host: localhost', 'Host: localhost', `Authorization: ${right}`]],
  ['Host', ['Host: localhost', 'host: evil.example', `Authorization: ${right}`]],
  ['Authorization', ['Host: localhost', `Authorization: ${right}`, `Authorization: ${right}`]],
  ['Authorization', ['Host: localhost', 'authorization: Bearer wrong', `Authorization: ${right}`]],
])('a request with two %s headers is answered 400', async (_name, headers) => {
  expect(await send(['GET /v1/sessions HTTP/1.1', ...headers])).toMatch(/^HTTP\/1\.1 400 /);
});
