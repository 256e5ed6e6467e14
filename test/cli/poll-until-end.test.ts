// The wait of commands that follow something, with the client that they use.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectApi } from '../../src/cli/api-client.ts';
import { EXIT } from '../../src/cli/cli-error.ts';
import { pollUntilEnd } from '../../src/cli/poll-until-end.ts';
import { KEY, startStandIn, type StandIn } from './stand-in-service.ts';

let standIn: StandIn;
beforeAll(async () => {
  standIn = await startStandIn();
});
afterAll(() => standIn[Symbol.asyncDispose]());

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

const apiAt = (url: string) => connectApi({ url, apiKey: KEY });

test('a command that follows something asks again after a refused connection', async () => {
  const [gone, back] = [apiAt(`http://127.0.0.1:${await closedPort()}`), apiAt(standIn.url)];
  const apis = [back, gone, back];
  const seen: string[] = [];
  const exit = await pollUntilEnd(
    { read: async () => (apis.shift() ?? back).getSession({ key: 'main' }), everyMs: 1 },
    ({ key }) => (seen.push(key) === 2 ? EXIT.partly : null),
  );
  expect([exit, seen.length, apis]).toEqual([EXIT.partly, 2, []]);
});

test('another error than an unreachable service ends the wait', async () => {
  const read = () => apiAt(standIn.url).getSession({ key: 'support' });
  await expect(pollUntilEnd({ read, everyMs: 1 }, () => null)).rejects.toMatchObject({ exitCode: EXIT.notFound });
});

test('a wait that is over ends with its exit code', async () => {
  const read = () => apiAt(standIn.url).getSession({ key: 'main' });
  expect(await pollUntilEnd({ read, everyMs: 1, waitSeconds: 0 }, () => null)).toBe(EXIT.waitEnded);
});
