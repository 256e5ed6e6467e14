// The event iterator of the typed client against a real API: what breaks is the connection, by the
// `fetch` that the client is given. A killed API is in test/service/event-stream.test.ts.
import { beforeEach, expect, test } from 'vitest';
import {
  createClient,
  type ClientEvent,
  type ClientOptions,
  type StreamBreak,
} from '../../src/client/create-client.ts';
import { followEvents } from '../../src/client/follow-events.ts';
import { reconnectDelayMs } from '../../src/client/retry.ts';
import { createTransport } from '../../src/client/transport.ts';
import { trimEvents } from '../../src/features/retention/rounds.ts';
import { ADMIN_KEY } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { readEvents } from '../rows/events.ts';
import { rollUpAll } from '../store/roll-up-all.ts';

const holder = useApiRig();
let url = '';

beforeEach(async () => {
  url = await holder.rig.listen();
});

function connect(options: Partial<ClientOptions> = {}) {
  return createClient({ url, key: ADMIN_KEY, ...options });
}

/** Takes events until one of this type came. */
async function takeUntil(events: AsyncIterable<ClientEvent>, type: string): Promise<ClientEvent[]> {
  const taken: ClientEvent[] = [];
  for await (const event of events) {
    taken.push(event);
    if (event.type === type) break;
  }
  return taken;
}

async function startTurn(session: string): Promise<void> {
  await connect().sendMessage({ key: session, body: { text: '[[reply: done]]' } });
  await holder.rig.work(session);
}

test('a stream says at its beginning after which id it can be resumed, before there is an event', async () => {
  const begun = Promise.withResolvers<string>();
  const stop = new AbortController();
  const first = connect().events({ session: 'early', signal: stop.signal, onId: begun.resolve });
  const ended = first.next();
  const after = await begun.promise;
  stop.abort();
  await ended;
  await startTurn('early');
  const taken = await takeUntil(connect().events({ session: 'early', after }), 'turn.ended');
  expect(taken[0]?.type).toBe('message.accepted');
});

test('events come with their ids and fields, of the session and the types that were asked for', async () => {
  const opened = Promise.withResolvers<void>();
  const events = connect().events({ session: 'chosen', types: ['turn.started', 'turn.ended'], onOpen: opened.resolve });
  const taking = takeUntil(events, 'turn.ended');
  await opened.promise;
  await startTurn('other');
  await startTurn('chosen');
  const taken = await taking;
  expect(taken.map(({ type }) => type)).toEqual(['turn.started', 'turn.ended']);
  expect(taken[1]).toMatchObject({
    id: expect.stringMatching(/^\d+$/),
    sessionKey: 'agent:main:chosen',
    status: 'completed',
    reply: 'done',
  });
  const again = connect().events({ session: 'chosen', after: String(taken[0]?.id) });
  const [next] = (await takeUntil(again, 'turn.ended')).slice(-1);
  expect(next).toEqual(taken[1]);
});

test('the events of a turn end with the turn', async () => {
  await startTurn('whole');
  const { items } = await connect().listTurns({ session: 'whole' });
  const taken: string[] = [];
  for await (const { type } of connect().turnEvents({ id: items[0]?.id ?? '' })) taken.push(type);
  expect(taken[0]).toBe('turn.started');
  expect(taken.at(-1)).toBe('turn.ended');
});

test('a stream that breaks, and is refused for now, continues after the last id', async () => {
  await startTurn('broken');
  const { items } = await connect().listTurns({ session: 'broken' });
  const id = items[0]?.id ?? '';
  const expected: ClientEvent[] = [];
  for await (const event of connect().turnEvents({ id })) expected.push(event);
  // Each connection carries some bytes and breaks in the middle of a frame; between them the
  // service refuses.
  let connections = 0;
  const fetch: NonNullable<ClientOptions['fetch']> = async (input, init) => {
    connections += 1;
    if (connections === 2) return new Response('{"code": "unauthorized"}', { status: 401 });
    const response = await globalThis.fetch(input, init);
    if (connections > 3) return response;
    const bytes = new Uint8Array(await response.arrayBuffer());
    const parts = [bytes.slice(0, bytes.length / 3)];
    const cut = new ReadableStream<Uint8Array>({
      pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.error(new Error('the connection broke'));
        else controller.enqueue(part);
      },
    });
    return new Response(cut);
  };
  const breaks: StreamBreak[] = [];
  const taken: ClientEvent[] = [];
  for await (const event of connect({ fetch }).turnEvents({ id, onBreak: (broken) => void breaks.push(broken) })) {
    taken.push(event);
  }
  expect(taken).toEqual(expected);
  expect(breaks.map(({ error }) => (error as { code: string }).code)).toEqual([
    'stream_broken',
    'unauthorized',
    'stream_broken',
  ]);
  expect(breaks.map(({ attempts }) => attempts)).toEqual([1, 2, 1]);
});

test('a stream that cannot be opened for a permanent reason fails immediately', async () => {
  const all = async (events: AsyncIterable<ClientEvent>) => Array.fromAsync(events);
  await expect(all(connect({ key: 'wrong' }).events())).rejects.toMatchObject({ code: 'unauthorized' });
  await expect(all(connect().turnEvents({ id: crypto.randomUUID() }))).rejects.toMatchObject({ code: 'not_found' });
  await expect(all(connect().events({ after: 'x' }))).rejects.toMatchObject({ code: 'invalid_header' });
});

test('a stream ends with its signal, with an error of its caller, and closes its connection', async () => {
  const leaving = new AbortController();
  for await (const _event of connect().events({ signal: leaving.signal, onOpen: () => leaving.abort() })) {
    throw new Error('nothing happened');
  }
  const events = connect({ url: 'http://127.0.0.1:9' }).events({
    onBreak: ({ error }) => {
      throw error;
    },
  });
  await expect(events.next()).rejects.toMatchObject({ code: 'connection_failed' });
  await expect.poll(async () => connect().getMetrics()).toContain('holdfast_event_streams 0');
});

test('a connection that carries nothing is given up as broken', async () => {
  const transport = createTransport({ url, key: ADMIN_KEY });
  // Events begin with this connection, and nothing happens: it carries an id, and then nothing for
  // 15 s.
  const events = followEvents(
    transport,
    { path: '/v1/events?session=quiet', after: undefined, lastType: null, stallMs: 1 },
    {
      onBreak: ({ error }) => {
        throw error;
      },
    },
  );
  await expect(events.next()).rejects.toMatchObject({
    code: 'stream_broken',
    detail: 'The stream of events broke: nothing came for 1 ms.',
  });
});

test('a client whose last id is older than the log receives a reset first, and then the remaining events', async () => {
  const { rig } = holder;
  const from = async (session: string, after: string) => takeUntil(connect().events({ session, after }), 'turn.ended');
  await startTurn('early');
  const early = await from('early', '0');
  expect(early[0]?.type).toBe('message.accepted');
  // Only events that are counted are deleted.
  await rollUpAll(rig.turns.database);
  const newest = (await readEvents(rig, {}, 'id')).at(-1);
  await trimEvents(rig.turns.database, 0);
  await startTurn('late');
  const late = await from('late', String(early[0]?.id));
  expect(late[0]).toEqual({ type: 'reset', id: null, sessionKey: null, turnId: null, at: expect.any(String) });
  expect(late.slice(1).map(({ type }) => type)).toContain('turn.started');
  // One that has seen all that was deleted has missed nothing.
  expect(await from('late', String(newest?.['id']))).toEqual(late.slice(1));
});

test('the waits between attempts grow to 30 s, and up to half of each is random', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 99].map((attempt) => reconnectDelayMs(attempt, 0))).toEqual([
    1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
  ]);
  expect(reconnectDelayMs(3, 1)).toBe(2000);
});
