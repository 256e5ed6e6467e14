// What connected clients receive when the process stops, and how clients that it cannot serve are
// disconnected (G26, G27, G28).
import { Agent, get, request, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { addEvents, idInTransaction } from '../rows/events.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { ADMIN_KEY, createApiRig, type ApiRig } from './api-rig.ts';
import { openEvents } from './event-client.ts';
import { eventually } from './use-api-rig.ts';

const authorization = `Bearer ${ADMIN_KEY}`;

/** An API and a database of this test: it is closed in the test, or else when the test ends. */
async function openRig(): Promise<ApiRig> {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  const rig = await createApiRig(database.url);
  onTestFinished(() => rig.close());
  return rig;
}

/** Writes many large events of a session in one go. */
async function flood(rig: ApiRig, session: string, count: number, bytes: number): Promise<void> {
  const sessionId = await rig.turns.sessionOf(session);
  const event = { sessionId, type: 'tool.ended', data: { x: 'y'.repeat(bytes) } };
  await addEvents(rig, ...Array.from({ length: count }, (_, n) => ({ id: idInTransaction(n + 1), ...event })));
}

test('a client that does not read live events is disconnected, and resumes by its id without a gap (G28)', async () => {
  const rig = await openRig();
  const url = await rig.listen();
  const request = get(`${url}/v1/events?session=slow`, { headers: { authorization } });
  onTestFinished(() => void request.destroy());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let received = '';
  response.on('data', (chunk: Buffer) => (received += chunk.toString()));
  await eventually(() => received).toContain('id:');
  response.pause();
  const broken = new Promise<void>((resolve) => response.once('close', () => resolve()));
  response.on('error', () => undefined);
  // More than the sockets of both sides and the stream's own buffer hold.
  for (let round = 1; round <= 10; round += 1) await flood(rig, 'slow', 200, 20_000);
  await eventually(async () => (await rig.get('/metrics')).body).toContain('holdfast_event_streams 0');
  response.resume();
  await broken;
  const whole = received.slice(0, received.lastIndexOf('\n\n') + 2);
  const seen = [...whole.matchAll(/^id: (\d+)\nevent/gm)].map(([, id]) => id ?? '');
  const lastId = [...whole.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? '';
  const rest = await readOn(`${url}/v1/events?session=slow`, lastId, 2000 - seen.length);
  expect(new Set([...seen, ...rest]).size).toBe(2000);
  expect(seen.length + rest.length).toBe(2000);
});

/**
 * Reads events after an id, and reconnects whenever the server disconnects, like a browser: a burst
 * of live events can be larger than the buffer of a stream. Resolves with their ids when there are
 * `count`.
 */
async function readOn(url: string, lastId: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const client = await openEvents(url, ids.at(-1) ?? lastId);
    await client.until((events) => ids.length + events.length >= count).catch(() => client.ended);
    client.leave();
    ids.push(...client.events.map((event) => event.id));
  }
  return ids;
}

/** The `Prefer: wait` of the client of the next test. */
const waitSeconds = 60;

test('closing ends streams, answers waiting requests in the 202 form, and keeps no connection', async () => {
  const other = await openRig();
  const url = await other.listen();
  const stream = await openEvents(`${url}/v1/events`);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const waiting = request(`${url}/v1/sessions/stopping/messages`, {
    method: 'POST',
    agent,
    headers: { authorization, 'content-type': 'application/json', prefer: `wait=${waitSeconds}` },
  });
  waiting.end('{"text":"x"}');
  const answered = once(waiting, 'response') as Promise<[IncomingMessage]>;
  await eventually(async () => (await other.get('/metrics')).body).toContain('holdfast_waiting_requests 1');
  const startedAt = performance.now();
  const closing = other.close();
  const [response] = await answered;
  response.resume();
  expect(response.statusCode).toBe(202);
  await stream.ended;
  await closing;
  expect(performance.now() - startedAt).toBeLessThan(waitSeconds * 500);
});

test('a body that never arrives completely is removed from the count of open requests', async () => {
  const other = await openRig();
  const url = await other.listen();
  const broken = request(`${url}/v1/sessions/broken/messages`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', 'content-length': '1000' },
  });
  broken.on('error', () => undefined);
  onTestFinished(() => void broken.destroy());
  const inside = async (): Promise<string | undefined> =>
    /^holdfast_http_requests_inside (\d+)/m.exec((await other.get('/metrics')).body)?.[1];
  broken.write('{"text":');
  // The scrape itself is counted too.
  await eventually(inside).toBe('2');
  broken.destroy();
  await eventually(inside).toBe('1');
});

test('closing does not wait for a connection without a request', async () => {
  const silentRig = await openRig();
  const url = await silentRig.listen();
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  // The server knows of the connection when it has answered on a later one.
  await (await fetch(`${url}/healthz`)).text();
  const closed = once(socket, 'close');
  await silentRig.close();
  await closed;
});
