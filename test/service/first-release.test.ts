// Goal: after its start, this version serves a database of the first release that has an open turn and waiting messages (G26). Method:
// the rows that version 0.1.0 had written when its process was killed in the middle of a command (rig/version-0.1.0.jsonl), in the layout of that
// version, and processes of this one.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, test } from 'vitest';
import { layOut } from '../../src/store/migrate.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { openServiceRig } from './rig/service-rig.ts';

const ROWS = fileURLToPath(new URL('./rig/version-0.1.0.jsonl', import.meta.url));

interface StoredRow {
  table: string;
  row: Record<string, unknown>;
}

/** Restores the database of version 0.1.0. */
async function restoreFirstRelease(url: string): Promise<void> {
  const stored = (await readFile(ROWS, 'utf8'))
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
  await restoreFirstRelease(database.url);
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
  const told = await api.send('main', { text: '[[reply: Hello again.]]' });
  expect(await api.settled(told)).toMatchObject({ reply: 'Hello again.' });
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
