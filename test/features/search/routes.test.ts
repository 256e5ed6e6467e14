// The search over HTTP: real turns, and rounds of the scheduler when a test asks for them.
import { expect, test } from 'vitest';
import { indexTexts } from '../../../src/features/search/rounds.ts';
import { readEvents } from '../../rows/events.ts';
import { changeSearchPosition, readSearchPosition } from '../../rows/search.ts';
import { removeTurns } from '../../rows/turns.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();

interface Hit {
  kind: string;
  sessionKey: string;
  turnId: string;
  entrySeq: number | null;
  entryState: string | null;
  snippet: { text: string; ranges: { start: number; end: number }[] };
}

/** Has a message answered. */
const say = (session: string, text: string) => holder.rig.settle(session, text);

/**
 * One round; resolves with how many statements it has sent. It is broken off at the one with this
 * number.
 */
async function countedRound(brokenAt = Infinity): Promise<number> {
  let sent = 0;
  const { database } = holder.rig.turns;
  const views = new Proxy(database.views, {
    get(pool, name) {
      if (name === 'query' && (sent += 1) >= brokenAt) return () => Promise.reject(new Error('The process ends here.'));
      const value: unknown = Reflect.get(pool, name);
      return typeof value === 'function' ? (value.bind(pool) as unknown) : value;
    },
  });
  await indexTexts({ ...database, views }, new AbortController().signal);
  return sent;
}

/**
 * What a scheduler does each second, until it has read the whole log: transactions of others on the
 * same server hold it back.
 */
async function round(): Promise<void> {
  const last = Math.max(...(await readEvents(holder.rig, {}, 'id')).map(({ id }) => id));
  await expect
    .poll(
      async () => {
        await indexTexts(holder.rig.turns.database, new AbortController().signal);
        return (await readSearchPosition(holder.rig, {}, 'afterId'))[0]?.afterId;
      },
      { timeout: 60_000 },
    )
    .toBeGreaterThanOrEqual(last);
}

async function find(q: string, more = ''): Promise<Hit[]> {
  const { status, body } = await holder.rig.get(`/v1/search?q=${encodeURIComponent(q)}${more}`);
  expect({ status, detail: body.detail }).toEqual({ status: 200, detail: undefined });
  return body.items;
}

const sessionsOf = (hits: Hit[]): string[] => [...new Set(hits.map(({ sessionKey }) => sessionKey.slice(11)))];
const marksOf = ({ snippet: { text, ranges } }: Hit): string[] =>
  ranges.map(({ start, end }) => text.slice(start, end));

test('words of a message, of a reply and of an error are found, with the entry or the turn that has them', async () => {
  await say('trip', 'Where does the Zeppelin land? [[reply: The zeppelin lands at Friedrichshafen.]]');
  await say('broken', 'Please count. [[error: 400 message="The gasbag is torn"]]');
  expect(await find('zeppelin')).toEqual([]);
  await round();
  const [reply, message] = await find('zeppelin');
  expect([message, reply]).toMatchObject([
    { kind: 'message', sessionKey: 'agent:main:trip', entrySeq: 1, transcriptNo: null, entryState: 'active' },
    { kind: 'reply', sessionKey: 'agent:main:trip', entrySeq: 2, turnId: message?.turnId },
  ]);
  expect([message, reply].map((hit) => marksOf(hit!))).toEqual([['Zeppelin', 'zeppelin'], ['zeppelin']]);
  expect(await find('gasbag', '&kind=error')).toMatchObject([
    { kind: 'error', sessionKey: 'agent:main:broken', entrySeq: null },
  ]);
  expect(await find('zeppelin', '&kind=error')).toEqual([]);
  expect(sessionsOf(await find('lands', '&session=trip'))).toEqual(['trip']);
  expect(await find('lands', '&session=broken')).toEqual([]);
  expect(await find('lands', '&session=unknown')).toEqual([]);
  expect(await find('lands', '&until=2020-01-01T00:00:00Z')).toEqual([]);
  expect(await find('lands', '&since=2020-01-01T00:00:00Z')).toHaveLength(2);
});

test('every word has to be there, beginnings count, phrases and words that are left out are respected', async () => {
  await say('first', 'The red fox jumps over src/config/limits.ts [[reply: Déjà vu.]]');
  await say('second', 'A fox that is red [[reply: Fine.]]');
  await say('third', '東京タワーの予約を変更してください [[reply: 서울은 지금 새벽입니다]]');
  await round();
  const found = async (q: string): Promise<string[]> => sessionsOf(await find(q));
  expect(await found('FOX red')).toEqual(['second', 'first']);
  expect(await found('"red fox"')).toEqual(['first']);
  expect(await found('fox -jumps')).toEqual(['second']);
  expect(await found('jum')).toEqual(['first']);
  expect(await found('config/limits')).toEqual(['first']);
  expect(await found('deja -reply')).toEqual(['first']);
  expect(await found('予約')).toEqual(['third']);
  expect(await found('서울')).toEqual(['third']);
  expect(marksOf((await find('deja', '&kind=reply'))[0]!)).toEqual(['Déjà']);
  expect(marksOf((await find('予約'))[0]!)).toEqual(['予約']);
  expect(await found('oxjum')).toEqual([]);
});

test('a page continues with the next, without a hit twice, while new words arrive', async () => {
  for (const n of [1, 2, 3]) await say('paged', `Marzipan number ${n} [[reply: ok]]`);
  await round();
  const first = await holder.rig.get('/v1/search?q=marzipan&limit=2');
  expect(first.body.items).toHaveLength(2);
  await say('paged', 'Marzipan number 4 [[reply: ok]]');
  await round();
  const second = await holder.rig.get(`/v1/search?q=marzipan&limit=2&cursor=${first.body.nextCursor}`);
  const texts = [...first.body.items, ...second.body.items].map(
    ({ snippet }: Hit) => /number \d/.exec(snippet.text)?.[0],
  );
  expect(texts).toEqual(['number 3', 'number 2', 'number 1']);
  expect(second.body.nextCursor).toBeNull();
});

test.each([
  ['', 'q'],
  ['?!', 'has no words'],
  ['-only -out', 'has only words that are left out'],
  [Array.from({ length: 17 }, (_, n) => `w${n}`).join(' '), 'at most 16'],
  ['x'.repeat(201), 'q'],
])('the query %j is refused with a reason', async (q, reason) => {
  const { status, body } = await holder.rig.get(`/v1/search?q=${encodeURIComponent(q)}`);
  expect({ status, code: body.code, path: body.errors[0].path }).toEqual({
    status: 400,
    code: 'invalid_query',
    path: 'q',
  });
  expect(body.detail).toContain(reason);
});

test.each([
  `'; drop table sessions; --`,
  `a' & 'b`,
  '!!! ((( :* <-> |',
  `\\`,
  '"open phrase',
  '%_%',
  '-"a b" c',
  `${'é'.repeat(199)}`,
  '\u202e\u0007 x',
  '<b>',
])('the query %j is only words', async (q) => {
  const { status, body } = await holder.rig.get(`/v1/search?q=${encodeURIComponent(q)}`);
  expect(status === 200 || body.code === 'invalid_query').toBe(true);
});

test('a text of any characters and length is added, the words at its beginning are found, and the snippet is short', async () => {
  const long = `Pomegranate ${'b'.repeat(5_000)} ' \\ : * & | ! ( ) <-> ${'\ud83d\ude00 한국어를 '.repeat(12_000)} tailword`;
  await say('long', long);
  await round();
  const [hit] = await find('pomegranate', '&kind=message');
  expect(hit?.snippet.text.length).toBeLessThanOrEqual(240);
  expect(marksOf(hit!)).toEqual(['Pomegranate']);
  expect(await find('tailword', '&kind=message')).toEqual([]);
});

test('words of an erased session are not found, and a round that was reading it adds none', async () => {
  await say('secret', 'My codename is Nightjar [[reply: Nightjar it is.]]');
  await round();
  expect(await find('nightjar')).toHaveLength(2);
  expect((await holder.rig.ask('DELETE', '/v1/sessions/secret')).status).toBe(200);
  expect(await find('nightjar')).toEqual([]);
  await round();
  expect(await find('nightjar')).toEqual([]);
});

test('the words of an error go with its turn, those of the conversation stay with it', async () => {
  await say('kept', 'Look at the Cassowary [[error: 400 message="The cassowary escaped"]]');
  await round();
  expect((await find('cassowary')).map(({ kind }) => kind).toSorted()).toEqual(['error', 'message']);
  await removeTurns(holder.rig, { id: (await find('cassowary'))[0]!.turnId });
  expect((await find('cassowary')).map(({ kind }) => kind)).toEqual(['message']);
});

test('what was written before there was a search is added by the rounds, once', async () => {
  await say('earlier', 'An Ocelot sleeps [[reply: So does the ocelot.]]');
  await changeSearchPosition(holder.rig, {}, { afterId: null });
  for (let n = 0; n < 3; n += 1) await round();
  expect(await find('ocelot')).toHaveLength(2);
});

test('a fork finds its own words, and leaves what it has copied to the session that it was said in', async () => {
  await say('origin', 'Quinoa for lunch [[reply: ok]]');
  await holder.rig.post('/v1/sessions/origin/fork', { key: 'branch' });
  await say('branch', 'Quinoa for dinner [[reply: ok]]');
  await round();
  await changeSearchPosition(holder.rig, {}, { afterId: null });
  for (let n = 0; n < 3; n += 1) await round();
  expect(sessionsOf(await find('quinoa'))).toEqual(['branch', 'origin']);
});

test('a round sends one statement while nothing is written', async () => {
  await say('quiet', 'The harbour is calm. [[reply: It is.]]');
  await round();
  expect(await countedRound()).toBe(1);
  await say('quiet', 'And the lighthouse? [[reply: Dark.]]');
  await round();
  expect(sessionsOf(await find('lighthouse'))).toEqual(['quiet']);
  expect(await countedRound()).toBe(1);
});

/** A metric without labels. */
async function readMetric(name: string): Promise<number> {
  const text = (await holder.rig.get('/metrics')).body as unknown as string;
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

test('rounds that are broken off at any of their statements lose no words and repeat none', async () => {
  // More entries than a statement reads, of which only the first and the last have words.
  await say(
    'longest',
    'Where is the Pangolin? [[repeat: 99 tool echo {"say": "$i"}]] [[reply: The pangolin is here.]]',
  );
  await say('torn', 'Nobody saw the pangolin [[error: 400 message="No pangolin"]]');
  await expect.poll(() => readMetric('holdfast_events_held_back_seconds'), { timeout: 60_000 }).toBe(0);
  let broken = 0;
  const isBroken = (at: number) =>
    countedRound(at).then(
      () => false,
      () => true,
    );
  while (await isBroken(broken + 1)) broken += 1;
  expect(broken).toBeGreaterThan(3);
  expect(
    (await find('pangolin')).map(({ kind, sessionKey }) => `${kind} of ${sessionKey.slice(11)}`).toSorted(),
  ).toEqual(['error of torn', 'message of longest', 'message of torn', 'reply of longest']);
});

test('the metrics say how old the oldest event is that the search has not read', async () => {
  const lag = () => readMetric('holdfast_search_lag_seconds');
  await round();
  expect(await lag()).toBe(0);
  await say('late', 'The tide is out. [[reply: It is.]]');
  expect(await lag()).toBeGreaterThan(0);
  await round();
  expect(await lag()).toBe(0);
});
