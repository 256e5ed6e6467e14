// Goal: after its start, this version serves a database of an earlier one whose work was in the
// middle (G26). Method: the rows that processes of earlier versions had written when they were
// killed, in the layout of these versions, and processes of this one. rig/version-0.1.0.jsonl is of
// the first release. rig/layout-0048.jsonl is of a version whose last migration was 0048; its turns
// are open, parked for a model, a budget and a batch of the provider, a parent waits for its
// subagent, and messages are waiting, delayed and held by a pause.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, test } from 'vitest';
import { layOut } from '../../src/database/migrate.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { openServiceRig } from './rig/service-rig.ts';

const soonMs = 150_000;

interface StoredRow {
  table: string;
  row: Record<string, unknown>;
}

/** A time in a row. */
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00/g;

/** Fills the database with the rows of a file in `rig`, as if they had been written just now. */
async function restoreRows(url: string, name: string): Promise<void> {
  const text = await readFile(fileURLToPath(new URL(`./rig/${name}`, import.meta.url)), 'utf8');
  const lines = text.split('\n').filter((line) => line.startsWith('{"table":"events"'));
  const killedAtMs = Math.max(...lines.flatMap((line) => line.match(TIME) ?? []).map((time) => Date.parse(time)));
  const laterMs = Date.now() - killedAtMs;
  const stored = text
    .replaceAll(TIME, (time) => new Date(Date.parse(time) + laterMs).toISOString())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as StoredRow);
  const tables = Map.groupBy(stored, ({ table }) => table);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('drop schema if exists holdfast cascade');
    await client.query('begin');
    await layOut(client, { upTo: tables.get('migrations')!.map(({ row }) => String(row['name'])) });
    await client.query('set local session_replication_role = replica');
    for (const [table, rows] of tables) {
      await client.query(`delete from holdfast.${table}`);
      await client.query(
        `insert into holdfast.${table} overriding system value select * from json_populate_recordset(null::holdfast.${table}, $1)`,
        [JSON.stringify(rows.map(({ row }) => row))],
      );
    }
    await client.query('commit');
  } finally {
    await client.end();
  }
}

test('a database of version 0.1.0 is migrated at the start, and nothing in it is lost or repeated (G1, G2, G4, G26)', async ({
  onTestFinished,
}) => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  await restoreRows(database.url, 'version-0.1.0.jsonl');
  const rig = await openServiceRig({ queue: 'postgres', databaseUrl: database.url });
  onTestFinished(() => rig.close());
  const open = await rig.rows<{ id: string; seq: string }>(
    `select i.id, i.seq from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where s.key = 'agent:main:open' order by i.seq`,
  );
  expect(open).toHaveLength(4);
  const api = rig.apiOf(await rig.start('api,worker,scheduler'));

  // The open turn does not repeat its command, and the waiting messages follow in order.
  const replies: (string | null)[] = [];
  for (const message of open) replies.push((await api.settled(message)).reply);
  expect(replies).toEqual(['It is done.', 'next 1', 'next 2', 'next 3']);
  const prompts = await rig.rows<{ text: string }>(
    `select e.content::text as text from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
     where s.key = 'agent:main:open' and e.kind = 'prompt' order by e.seq`,
  );
  expect(prompts.map(({ text }) => /Next \d/.exec(text)?.[0])).toEqual([undefined, 'Next 1', 'Next 2', 'Next 3']);
  const turns = (await api.ask('GET', '/v1/turns?session=open')).body.items;
  expect(turns.at(-1)).toMatchObject({
    status: 'completed',
    attempt: 2,
    steps: [{ tools: [{ name: 'exec', status: 'unknown', runs: 1 }] }, {}],
  });

  // A request that version 0.1.0 answered gets the same answer, and creates no second message.
  const again = await api.ask(
    'POST',
    '/v1/sessions/main/messages',
    { text: 'Is order 42 out? [[tool: exec {"command": "echo yes"}]] [[reply: Yes, it is.]]' },
    { 'idempotency-key': 'order-42' },
  );
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.body.message).toMatchObject({ seq: 1 });

  // Conversations, crons, runs and dead letters are present and usable.
  const answered = await api.send('main', { text: '[[reply: Hello again.]]' });
  expect(await api.settled(answered)).toMatchObject({ reply: 'Hello again.' });
  const transcript = JSON.stringify((await api.ask('GET', '/v1/sessions/main/transcript')).body.items);
  for (const text of ['Yes, it is.', 'You are welcome.', 'It rains.', 'Three.', 'Hello again.'])
    expect(transcript).toContain(text);
  const [cron] = (await api.ask('GET', '/v1/crons')).body.items;
  expect(cron).toMatchObject({ name: 'report', enabled: true, nextRunAt: expect.any(String) });
  await api.ask('POST', `/v1/crons/${cron.id}/run`);
  const runs = (await api.ask('GET', '/v1/sessions/main/subagents')).body.items;
  expect(runs).toMatchObject([{ status: 'ok' }]);
  const { body: letters } = await api.ask('GET', '/v1/dead-letters');
  expect(letters.items).toMatchObject([{ code: 'model_invalid_request', count: 1 }]);
  const redriven = await api.ask('POST', '/v1/dead-letters/redrive', { code: 'model_invalid_request' });
  expect(redriven.body).toMatchObject({ redriven: 1 });
  expect((await api.ask('GET', '/readyz')).body).toMatchObject({ status: 'ready' });
});

test('turns that an earlier version left open or parked are resumed where they were, each once (G7, G11, G16, G18, G26)', async ({
  onTestFinished,
}) => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  await restoreRows(database.url, 'layout-0048.jsonl');
  const models = { outage: { probeMs: { min: 100, max: 200 } } };
  const rig = await openServiceRig({ queue: 'postgres', databaseUrl: database.url, config: { models } });
  onTestFinished(() => rig.close());
  const api = rig.apiOf(await rig.start('api,worker,scheduler'));
  const list = async (path: string) =>
    (await api.ask('GET', path)).body.items as { id: string; messageId: string; reply: string | null }[];
  /** The replies to the messages of a session, in their order. */
  const repliesOf = async (session: string) => {
    const replies: (string | null)[] = [];
    for (const message of (await list(`/v1/messages?session=${session}`)).toReversed())
      replies.push((await api.settled(message)).reply);
    return replies;
  };

  // The command of the open turn is not repeated, and what waits follows in order.
  expect(await repliesOf('open')).toEqual(['It is done.', 'next 1', 'next 2', 'next 3']);
  expect((await list('/v1/turns?session=open')).at(-1)).toMatchObject({
    attempt: 2,
    steps: [{ tools: [{ name: 'exec', status: 'unknown', runs: 1 }] }, {}],
  });
  expect(await repliesOf('parked')).toEqual(['It answers again.']);

  // A budget, and a pause, hold what they held.
  const [poor] = await list('/v1/messages?session=poor');
  expect((await api.ask('GET', `/v1/messages/${poor?.id}`)).body.why).toMatchObject({ code: 'budget_reached' });
  const [budget] = await list('/v1/budgets');
  await api.ask('PATCH', `/v1/budgets/${budget?.id}`, { limitUsd: 10 });
  expect(await repliesOf('poor')).toEqual(['I have money.']);
  const [paused] = await list('/v1/messages?session=paused');
  expect((await api.ask('GET', `/v1/messages/${paused?.id}`)).body.why).toMatchObject({ code: 'paused' });
  await api.ask('POST', '/v1/resume', { session: 'agent:main:paused' });
  expect(await repliesOf('paused')).toEqual(['Resumed.']);
  expect(await repliesOf('later')).toEqual(['It is late.']);

  // The subagent ends, and its parent, which waits for it, gets its result once.
  const announced = await waitUntil('the subagent is announced', soonMs, async () => {
    const inbox = await list('/v1/messages?session=parent');
    return inbox.some(({ reply }) => reply !== null) && inbox;
  });
  expect(announced).toMatchObject([{ kind: 'announcement' }, { kind: 'message' }]);
  expect(await list('/v1/sessions/parent/subagents')).toMatchObject([{ status: 'ok', result: 'Found it.' }]);

  // Both batches end with every item answered once.
  for (const batch of await list('/v1/batches')) {
    const ended = await waitUntil('the batch has ended', soonMs, async () => {
      const { body } = await api.ask('GET', `/v1/batches/${batch.id}`);
      return body.status === 'ended' && body;
    });
    const { name, counts } = ended;
    expect({ name, counts }).toMatchObject(
      name === 'live'
        ? { name: 'live', counts: { answered: 6, failed: 0 } }
        : { name: 'cheap', counts: { answered: 2, failed: 0 } },
    );
    const answered = (await list(`/v1/batches/${batch.id}/items`)).map(({ messageId }) => ({ id: messageId }));
    const replies = await Promise.all(answered.map(async (message) => (await api.settled(message)).reply));
    const word = name === 'live' ? 'Item' : 'Cheap';
    expect(new Set(replies)).toEqual(new Set(replies.map((_, n) => `${word} ${n}.`)));
  }
  const open = await rig.rows(
    'select id from holdfast.turns where ended_at is null union all select id from holdfast.inbox where settled_at is null',
  );
  expect(open).toEqual([]);
});
