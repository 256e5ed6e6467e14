// Goal: lists, counts, searches and events have only what the scope of the key has (G44). Method:
// two parts with the same things in each, and a third that no scope has; each answer to a key is
// compared with what the first key is answered, of which only the part is kept.
import { beforeAll, describe, expect, test } from 'vitest';
import { indexTexts } from '../../src/features/search/rounds.ts';
import { newId } from '../../src/ids.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { addDeliveries } from '../rows/deliveries.ts';
import { addEvents, idInTransaction, readEvents } from '../rows/events.ts';
import { readSearchPosition } from '../rows/search.ts';
import { readSessions } from '../rows/sessions.ts';
import { openEvents } from './event-client.ts';
import { spawnBelow } from './spawn-below.ts';
import { eventually, useApiRig } from './use-api-rig.ts';

const holder = useApiRig();
const PARTS = ['shop', 'desk', 'hall'] as const;
type Part = (typeof PARTS)[number];

/** The keys, by what they see of the parts. */
const keys = new Map<string, { secret: string; sees: readonly Part[] }>();
const partOfKey = new Map<string, Part>();
const made = new Map<Part, { turnId: string; messageId: string; sessionId: string; deliveryId: string }>();

async function makeKey(name: string, sessions: string[], sees: readonly Part[]): Promise<void> {
  const { body } = await holder.rig.post('/v1/keys', { name, role: 'operator', sessions });
  keys.set(name, { secret: body.key, sees });
}

beforeAll(async () => {
  const { rig } = holder;
  await makeKey('shop', ['agent:main:part:shop:*'], ['shop']);
  await makeKey('desk', ['agent:main:part:desk:*'], ['desk']);
  await makeKey('both', ['agent:main:part:*'], ['shop', 'desk']);
  // The parts take turns, so that a page which forgets the scope has what is outside.
  for (const part of PARTS) {
    const session = part === 'hall' ? 'hall:1' : `part:${part}:1`;
    const tags = { order: 'zeppelin' };
    const text = `The zeppelin of ${part} [[tool: echo {}]] [[reply: The zeppelin lands.]]`;
    const { turnId, id: messageId } = await rig.settle(session, text, { tags });
    await rig.post(`/v1/turns/${turnId}/scores`, { score: 'helpful', value: true });
    await rig.settle(session, 'zeppelin [[error: 400 message="The zeppelin is torn"]]');
    await rig.post(`/v1/sessions/${session}/fork`, { key: `copy-of-${part}` });
    const { key: child } = await spawnBelow(rig, `agent:main:${session}`, { label: part });
    await rig.post(`/v1/sessions/${session}/messages`, { text: 'later', tags });
    await rig.settle(`agent:main:copy-of-${part}`, 'zeppelin');
    const family = [`agent:main:${session}`, `agent:main:copy-of-${part}`, child];
    for (const key of family) partOfKey.set(key, part);
    const [{ id: sessionId } = { id: '' }] = await readSessions(rig, { key: `agent:main:${session}` }, 'id');
    const deliveryId = newId<string>();
    await addDeliveries(rig, { id: deliveryId, sessionId, turnId, seq: 900, status: 'failed' });
    made.set(part, { turnId, messageId, sessionId: String(sessionId), deliveryId });
  }
  const newest = Math.max(...(await readEvents(rig, {}, 'id')).map(({ id }) => id));
  await waitUntil('the words are stored', 60_000, async () => {
    await indexTexts(rig.turns.database, new AbortController().signal);
    return ((await readSearchPosition(rig, {}, 'afterId'))[0]?.afterId ?? 0) >= newest;
  });
});

interface Item {
  id?: string;
  key?: string;
  sessionKey?: string;
}

const isOf = ({ key, sessionKey }: Item, sees: readonly Part[]): boolean => {
  const part = partOfKey.get(sessionKey ?? key ?? '');
  return part !== undefined && sees.includes(part);
};
const nameOf = (item: Item & { turnId?: string; kind?: string; entrySeq?: number }): string =>
  item.id ?? `${item.turnId} ${item.kind} ${item.entrySeq}`;

function ask(name: string, url: string) {
  return holder.rig.get(url, { authorization: `Bearer ${keys.get(name)?.secret}` });
}

async function namesOf(name: string, url: string): Promise<string[]> {
  const { status, body } = await ask(name, url);
  expect({ url, status, detail: body.detail }).toEqual({ url, status: 200, detail: undefined });
  expect(body.nextCursor).toBeNull();
  return body.items.map(nameOf);
}

/** What the first key is answered, without what is outside. */
async function expectedOf(name: string, url: string): Promise<string[]> {
  const { body } = await holder.rig.get(url);
  return body.items.filter((item: Item) => isOf(item, keys.get(name)!.sees)).map(nameOf);
}

const LISTS = [
  '/v1/sessions?',
  '/v1/sessions?status=idle&',
  '/v1/sessions?status=waiting&',
  '/v1/sessions?kind=subagent&',
  '/v1/sessions?tag=order:zeppelin&',
  '/v1/sessions?q=co&',
  '/v1/sessions?order=updated&',
  '/v1/sessions?order=updated&status=waiting&',
  '/v1/sessions?order=updated&tag=order:zeppelin&',
  '/v1/sessions?order=updated&q=co&',
  '/v1/turns?',
  '/v1/turns?status=completed&',
  '/v1/turns?status=failed&',
  '/v1/turns?status=failed,completed&since=2020-01-01T00:00:00Z&',
  '/v1/turns?tag=order:zeppelin&',
  '/v1/turns?tool=echo&',
  '/v1/turns?score=helpful:true&',
  '/v1/turns?q=co&',
  '/v1/messages?',
  '/v1/messages?status=waiting&',
  '/v1/messages?status=answered,failed&',
  '/v1/messages?tag=order:zeppelin&',
  '/v1/waiting?',
  '/v1/waiting?lane=main&',
  '/v1/deliveries?',
  '/v1/deliveries?status=failed&',
  '/v1/deliveries?q=:1&',
  '/v1/search?q=zeppelin&',
  '/v1/search?q=zeppelin&kind=reply&',
];

describe.each(['shop', 'desk', 'both'])('the key of %s', (name) => {
  test.each(LISTS)('finds with %s exactly its own, and page by page the same (G44)', async (url) => {
    const expected = await expectedOf(name, `${url}limit=50`);
    expect(expected.length).toBeGreaterThan(0);
    expect(await namesOf(name, `${url}limit=50`)).toEqual(expected);
    const paged: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await ask(name, `${url}limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      // No page is empty because of others.
      if (paged.length < expected.length) expect(body.items).toHaveLength(1);
      paged.push(...body.items.map(nameOf));
      cursor = body.nextCursor;
    }
    expect(paged).toEqual(expected);
  });

  test('counts exactly its own', async () => {
    const count = async (url: string) => (await ask(name, url)).body;
    for (const filter of ['', 'status=failed', 'tag=order:zeppelin', 'tool=echo', 'q=co']) {
      const { length } = await expectedOf(name, `/v1/turns?limit=50&${filter}`);
      expect(await count(`/v1/turns/count?${filter}`)).toEqual({ count: length, isCapped: false });
    }
    const { length: waiting } = await expectedOf(name, '/v1/waiting?limit=50');
    expect(await count('/v1/waiting?limit=1')).toMatchObject({ count: waiting, isCapped: false });
    const { length: failed } = await expectedOf(name, '/v1/deliveries?limit=50&status=failed');
    const { items } = await count('/v1/deliveries/count');
    expect(items.find(({ status }: { status: string }) => status === 'failed')).toMatchObject({ count: failed });
  });

  test('finds by ids, keys and other names only what is inside', async () => {
    for (const part of PARTS) {
      const { turnId, messageId, sessionId, deliveryId } = made.get(part)!;
      const key = part === 'hall' ? 'agent:main:hall:1' : `agent:main:part:${part}:1`;
      const urls = [
        ...[key, sessionId, turnId, messageId].flatMap((q) => [
          `/v1/sessions?q=${q}&`,
          `/v1/sessions?order=updated&q=${q}&`,
          `/v1/turns?q=${q}&`,
        ]),
        ...[deliveryId, turnId, key].map((q) => `/v1/deliveries?q=${q}&`),
        `/v1/turns?session=${key}&`,
        `/v1/messages?session=${key}&`,
        `/v1/messages?ids=${messageId}&`,
        `/v1/waiting?session=${key}&`,
        `/v1/deliveries?session=${key}&`,
        `/v1/deliveries?turn=${turnId}&`,
        `/v1/search?q=zeppelin&session=${key}&`,
      ];
      for (const url of urls) {
        const expected = await expectedOf(name, `${url}limit=50`);
        expect(expected.length > 0, url).toBe(keys.get(name)!.sees.includes(part));
        expect(await namesOf(name, `${url}limit=50`), url).toEqual(expected);
      }
      for (const list of ['sessions', 'turns', 'deliveries'])
        expect(await namesOf(name, `/v1/${list}?q=${turnId.slice(-8)}&limit=50`), 'the end of an id').toEqual([]);
    }
  });

  test('receives exactly its own events, stored and live', async () => {
    const { rig } = holder;
    const { secret, sees } = keys.get(name)!;
    const url = await rig.listen();
    const live = await openEvents(`${url}/v1/events?types=message.settled,worker.started`, undefined, secret);
    await eventually(() => live.lastId()).not.toBe('');
    const settled: string[] = [];
    for (const part of PARTS) {
      await addEvents(rig, { id: idInTransaction(1), type: 'worker.started', data: {} });
      const { id } = await rig.settle(`agent:main:copy-of-${part}`, 'now');
      if (sees.includes(part)) settled.push(id);
    }
    await live.until((events) => events.length >= settled.length);
    const idsOf = (events: typeof live.events) => events.map(({ data }) => data['messageId']);
    expect(idsOf(live.events)).toEqual(settled);
    const own = new Set([...partOfKey].filter(([, part]) => sees.includes(part)).map(([key]) => key));
    const ofSessions = await Promise.all(
      PARTS.map(async (part) => ({
        part,
        client: await openEvents(`${url}/v1/events?session=copy-of-${part}`, '0', secret),
      })),
    );
    const past = await openEvents(`${url}/v1/events`, '0', secret);
    await past.until((events) => idsOf(events).includes(settled.at(-1)));
    expect(new Set(past.events.map(({ data }) => data['sessionKey']))).toEqual(own);
    for (const { part, client } of ofSessions) {
      if (sees.includes(part)) await client.until((events) => events.length > 0);
      expect(client.events.length > 0).toBe(sees.includes(part));
    }
  });
});

test('a text that names something outside is searched for as one that names nothing (G44)', async () => {
  await holder.rig.settle('part:shop:a-corner', 'hello');
  partOfKey.set('agent:main:part:shop:a-corner', 'shop');
  const find = () => namesOf('shop', '/v1/sessions?q=corner');
  const before = await find();
  expect(before).toHaveLength(1);
  await holder.rig.settle('corner', 'hello');
  expect(await find()).toEqual(before);
});

test('a key keeps what a narrower key sees, in lists and in streams that were open before', async () => {
  const { rig } = holder;
  const url = await rig.listen();
  const live = await openEvents(`${url}/v1/events?types=message.settled`, undefined, keys.get('shop')!.secret);
  await eventually(() => live.lastId()).not.toBe('');
  await makeKey('narrow', ['agent:main:part:shop:vip:*'], []);
  const { id } = await rig.settle('part:shop:vip:1', 'hello');
  await live.until((events) => events.length > 0);
  expect(live.events[0]?.data['messageId']).toBe(id);
  for (const name of ['narrow', 'shop', 'both'])
    expect(await namesOf(name, `/v1/messages?limit=1&ids=${id}`)).toEqual([id]);
  expect((await ask('narrow', '/v1/turns?session=part:shop:vip:1')).body.items).toHaveLength(1);
  expect((await ask('desk', '/v1/turns?session=part:shop:vip:1')).body.items).toEqual([]);
  expect((await ask('narrow', '/v1/sessions')).body.items).toHaveLength(1);
});
