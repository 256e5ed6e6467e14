// Event streams over real HTTP: a subscriber misses no event and gets none twice, whichever process
// crashes and however late it connects.
import pg from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { ApiRig } from './api-rig.ts';
import { openEvents, type ReceivedEvent } from './event-client.ts';
import { liveEvent } from '../../src/contract/events.ts';
import { addEvents, idInTransaction, readEvents, removeEvents } from '../rows/events.ts';
import { addTurns, readTurns } from '../rows/turns.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const holder = useApiRig({ limits: { eventStreams: 20 } });
let url = '';
const BACKLOG_MAX = 5;

beforeEach(async () => {
  url = await holder.rig.listen();
});

/** Writes events of a session as a worker does, some in each transaction. */
async function tell(session: string, marks: number[], type = 'tool.started'): Promise<void> {
  const { rig } = holder;
  const sessionId = await rig.turns.sessionOf(session);
  for (let from = 0; from < marks.length; from += BACKLOG_MAX) {
    const some = marks.slice(from, from + BACKLOG_MAX);
    await addEvents(rig, ...some.map((mark, n) => ({ id: idInTransaction(n + 1), sessionId, type, data: { mark } })));
  }
}

/**
 * Writes an event and waits until a stream has it: before that, a transaction in any database of
 * the server can hold it back.
 */
async function addEventsAtEnd(session: string, marks: number[]): Promise<string> {
  await tell(session, marks);
  const client = await openEvents(`${url}/v1/events?session=${session}`, '0');
  await client.until((events) => events.length >= marks.length);
  client.leave();
  return client.lastId();
}

function marksOf(events: ReceivedEvent[]): unknown[] {
  return events.map((event) => event.data['mark']);
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, n) => from + n);
}

/**
 * A separate connection, which ends with the test: a transaction that stays open would hold every
 * stream back.
 */
async function connect(rig: ApiRig): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: rig.databaseUrl });
  onTestFinished(() => client.end());
  await client.connect();
  return client;
}

describe('the stream of a turn', () => {
  test('has all of it from its start with its text deltas, and ends after turn.ended', async () => {
    const { rig } = holder;
    await rig.settle('told', '[[reply: another turn]]');
    const { turnId } = await rig.settle('told', 'do [[tool: echo {}]] [[reply: hello world]]');
    const client = await openEvents(`${url}/v1/turns/${turnId}/events`);
    await client.ended;
    const types = client.events.map((event) => event.type);
    expect(types[0]).toBe('turn.started');
    expect(types.at(-1)).toBe('turn.ended');
    expect(types).toEqual(expect.arrayContaining(['model.delta', 'model.ended', 'tool.started', 'tool.ended']));
    expect(client.events.every((event) => event.data['turnId'] === turnId)).toBe(true);
    expect(client.events[0]?.data).toMatchObject({ type: 'turn.started', sessionKey: 'agent:main:told' });
    const text = client.events.filter((event) => event.type === 'model.delta').map((event) => event.data['text']);
    expect(text.join('')).toContain('hello world');
  });

  test('resumes after any event without a gap or a repeat', async () => {
    const { rig } = holder;
    const { turnId } = await rig.settle('resumed', 'do [[tool: echo {}]] [[reply: hello]]');
    const path = `${url}/v1/turns/${turnId}/events`;
    const whole = await openEvents(path);
    await whole.ended;
    const ids = whole.events.map((event) => event.id);
    expect(ids).toEqual(ids.toSorted((one, other) => Number(BigInt(one) - BigInt(other))));
    for (const [index, id] of ids.slice(0, -1).entries()) {
      const rest = await openEvents(path, id);
      await rest.ended;
      expect(rest.events.map((event) => event.id)).toEqual(ids.slice(index + 1));
    }
    expect((await openEvents(path, ids.at(-1))).status).toBe(204);
    expect((await openEvents(`${path}?after=${ids.at(-2)}`)).status).toBe(200);
  });

  test('that runs is followed live to its end', async () => {
    const { rig } = holder;
    const sessionId = await rig.turns.sessionOf('live');
    const turnId = newId<string>();
    await addTurns(rig, { id: turnId, sessionId, status: 'running' });
    const happen = (type: string): Promise<unknown> =>
      addEvents(rig, { id: idInTransaction(1), sessionId, turnId, type, data: {} });
    await happen('turn.started');
    const client = await openEvents(`${url}/v1/turns/${turnId}/events`);
    await client.until((events) => events.length === 1);
    await happen('model.started');
    await client.until((events) => events.length === 2);
    await happen('turn.ended');
    await client.ended;
    expect(client.events.map((event) => event.type)).toEqual(['turn.started', 'model.started', 'turn.ended']);
  });

  test('that ended before its events are final still delivers its end', async () => {
    const { rig } = holder;
    const { turnId } = await rig.settle('late-end', '[[reply: x]]');
    // A transaction older than the end of the turn holds the horizon back.
    const [end] = await readEvents(rig, { turnId, type: 'turn.ended' }, 'id');
    await removeEvents(rig, { id: end?.['id'] });
    const older = await connect(rig);
    await older.query('begin; select pg_current_xact_id()');
    const [turn] = await readTurns(rig, { id: turnId }, 'sessionId');
    await addEvents(rig, { id: idInTransaction(1), ...turn, turnId, type: 'turn.ended', data: {} });
    const client = await openEvents(`${url}/v1/turns/${turnId}/events`);
    await client.until((events) => events.some((event) => event.type === 'turn.started'));
    expect(client.events.some((event) => event.type === 'turn.ended')).toBe(false);
    await older.query('rollback');
    await client.ended;
    expect(client.events.at(-1)?.type).toBe('turn.ended');
  });
});

describe('the stream of everything', () => {
  test('begins now, and resumes from there even when no event arrived', async () => {
    await addEventsAtEnd('now', [1, 2]);
    const client = await openEvents(`${url}/v1/events?session=now`);
    await eventually(() => client.lastId()).not.toBe('');
    client.leave();
    await tell('now', [3]);
    const back = await openEvents(`${url}/v1/events?session=now`, client.lastId());
    await tell('now', [4]);
    expect(marksOf(await back.until((events) => events.length >= 2))).toEqual([3, 4]);
    back.leave();
  });

  test('can be filtered by session and by type', async () => {
    const ofSession = await openEvents(`${url}/v1/events?session=Chosen`);
    const ofTypes = await openEvents(`${url}/v1/events?types=tool.ended,turn.ended`);
    await tell('other', [1]);
    await tell('chosen', [2]);
    await tell('chosen', [3], 'tool.ended');
    expect(marksOf(await ofSession.until((events) => events.length >= 2))).toEqual([2, 3]);
    expect(marksOf(await ofTypes.until((events) => events.length >= 1))).toEqual([3]);
    ofSession.leave();
    ofTypes.leave();
  });

  test('misses no event that is committed after a newer one', async () => {
    const { rig } = holder;
    const client = await openEvents(`${url}/v1/events?session=order`);
    const sessionId = await rig.turns.sessionOf('order');
    const slow = await connect(rig);
    await slow.query('begin');
    await addEvents(slow, { id: idInTransaction(1), sessionId, type: 'tool.started', data: { mark: 1 } });
    await tell('order', [2, 3]);
    const before = client.events.length;
    await slow.query('commit');
    expect(before).toBe(0);
    expect(marksOf(await client.until((events) => events.length >= 3))).toEqual([1, 2, 3]);
    client.leave();
  });

  test('switches from past to live events under load without a gap or a repeat', async () => {
    const TOTAL = 1500;
    const start = await addEventsAtEnd('flood', [0]);
    const writing = tell('flood', range(1, TOTAL));
    const clients = await Promise.all(
      Array.from({ length: 5 }, () => openEvents(`${url}/v1/events?session=flood`, start)),
    );
    // One more client, which disconnects again and again.
    const seen: ReceivedEvent[] = [];
    let lastId = start;
    while (seen.length < TOTAL) {
      const client = await openEvents(`${url}/v1/events?session=flood`, lastId);
      await client.until((events) => events.length >= Math.min(100, TOTAL - seen.length));
      client.leave();
      await client.ended;
      seen.push(...client.events);
      lastId = client.events.at(-1)?.id ?? lastId;
    }
    await writing;
    expect(marksOf(seen)).toEqual(range(1, TOTAL));
    for (const client of clients) {
      expect(marksOf(await client.until((events) => events.length >= TOTAL))).toEqual(range(1, TOTAL));
      client.leave();
    }
  });

  test('ignores an id from the future', async () => {
    const astray = await openEvents(`${url}/v1/events?session=future`, '999999999999999999');
    const other = await openEvents(`${url}/v1/events?session=future`);
    await tell('future', [1]);
    expect(marksOf(await astray.until((events) => events.length >= 1))).toEqual([1]);
    expect(marksOf(await other.until((events) => events.length >= 1))).toEqual([1]);
    astray.leave();
    other.leave();
  });

  test('refuses an invalid id, and one stream more than the limit', async () => {
    expect(await holder.rig.get('/v1/events', { 'last-event-id': 'abc' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_header' },
    });
    const open = await Promise.all(Array.from({ length: 20 }, () => openEvents(`${url}/v1/events`)));
    expect((await openEvents(`${url}/v1/events`)).status).toBe(503);
    for (const client of open) client.leave();
    await eventually(async () => (await holder.rig.get('/metrics')).body).toContain('holdfast_event_streams 0');
  });
});

test('events match the schemas of their types in the document', async () => {
  const { rig } = holder;
  const say = (text: string) => rig.post('/v1/sessions/shapes/messages', { text });
  await say('[[tool: echo {"x": 1}]] [[reply: done]]');
  await rig.work('shapes');
  await say('/stop');
  await rig.post('/v1/sessions/shapes/reset', {});
  await rig.post('/v1/agents/main/heartbeat', {});
  const keys = ['agent:main:shapes', 'agent:main:main'];
  const ofKey = async (sessionKey: string) =>
    (await readEvents(rig, { sessionKey }, 'type', 'turnId', 'data')).map((event) => ({ ...event, sessionKey }));
  const rows = (await Promise.all(keys.map(ofKey))).flat();
  const types = new Set(rows.map(({ type }) => type));
  for (const type of [
    'turn.ended',
    'model.ended',
    'tool.ended',
    'message.settled',
    'session.reset',
    'heartbeat.fired',
  ]) {
    expect(types).toContain(type);
  }
  for (const { data, ...row } of rows) {
    const event = { ...(data as object), ...row, at: new Date().toISOString() };
    expect(liveEvent.safeParse(event).error?.message, JSON.stringify(event)).toBeUndefined();
  }
});
