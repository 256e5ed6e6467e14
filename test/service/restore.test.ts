// Goal: a database that was restored into a cluster with lower transaction ids continues from the
// backup: waiting messages are answered, open turns end, and event streams continue without gaps or
// duplicates, also for clients that have received events after the backup (G1, G11). Method: two
// clusters; the second is new, and its transaction ids are far below those of the first.
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readEvents } from '../rows/events.ts';
import { above } from '../rows/table.ts';
import { copyRows, dumpDatabase, type Backup } from '../servers/copy-database.ts';
import { hasPostgres15, startPostgresServer, type PostgresServer } from '../servers/postgres-server.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { isLongForm } from '../servers/test-form.ts';
import { followEvents } from './rig/event-follower.ts';
import { apiKey, openServiceRig } from './rig/service-rig.ts';

const soonMs = 150_000;
const waitingMessages = 8;

interface Way {
  way: string;
  startServer: () => Promise<PostgresServer>;
  backUp: Backup;
}

// pg_dump refuses servers that are newer than itself, so it is used with the version that it comes
// with.
const ways: Way[] = [
  { way: 'by copying its rows', startServer: () => startTestPostgres(), backUp: copyRows },
  ...(hasPostgres15()
    ? [{ way: 'with pg_dump of PostgreSQL 15', startServer: () => startPostgresServer(15), backUp: dumpDatabase }]
    : []),
];

describe.runIf(isLongForm()).each(ways)('a database that was restored $way', ({ startServer, backUp }) => {
  test('continues with its messages, turns and event streams (G1, G11)', async () => {
    const old = await started(startServer);
    const oldUrl = await old.createDatabase('service');
    await onServer(oldUrl, async (client) => {
      await client.query('set synchronous_commit = off');
      await client.query(SPEND_TRANSACTION_IDS);
    });
    const rig = await openServiceRig({ queue: 'postgres', databaseUrl: oldUrl });
    onTestFinished(() => rig.close());
    const [api, worker] = await Promise.all([rig.start('api'), rig.start('worker,scheduler')]);
    const client = rig.apiOf(api);
    const follower = await followEvents(`${api.url}/v1/events`, apiKey);
    onTestFinished(() => follower.leave());

    const open = await client.send('open', {
      text: '[[tool: http_effect {"key": "before"}]] [[delay: 3000]] [[reply: Went on.]]',
    });
    await waitUntil(
      'the turn has run its tool',
      soonMs,
      () => rig.effects.effects.length > 0 && rig.model.requests.length >= 2,
    );
    await rig.kill(worker);
    const waiting = await Promise.all(
      Array.from({ length: waitingMessages }, (_, n) =>
        client.send(`waiting-${n}`, { text: `[[reply: Answer ${n}.]]` }),
      ),
    );
    const restore = await backUp(oldUrl);
    // These events are not in the backup, but the client receives them.
    await client.send('lost', { text: '[[reply: lost]]' });
    await waitUntil('the client has seen what will be lost', soonMs, () =>
      follower.events.some(({ type, data }) => type === 'message.accepted' && data['sessionKey'] === 'agent:main:lost'),
    );
    await api.end('SIGTERM');
    await old.stop();
    const seen = follower.events.length;

    const fresh = await started(startServer);
    const freshUrl = await fresh.createDatabase('service');
    await restore(freshUrl);
    const env = { DATABASE_URL: freshUrl };
    await rig.start('api', { port: Number(new URL(api.url).port), env });
    await rig.start('worker,scheduler', { env });

    const added = await client.send('new', { text: '[[reply: New.]]' });
    for (const [n, message] of waiting.entries()) {
      expect(await client.settled(message)).toMatchObject({ status: 'answered', reply: `Answer ${n}.` });
    }
    expect(await client.settled(open)).toMatchObject({ status: 'answered', reply: 'Went on.' });
    // After the last turn no event is written any more.
    expect(await client.settled(added)).toMatchObject({ status: 'answered', reply: 'New.' });
    expect(rig.effects.effects.map(({ key }) => key)).toEqual(['before']);

    const written = await onServer(freshUrl, async (judge) => {
      const last = Number(follower.events[seen - 1]!.id);
      return (await readEvents(judge, { id: above(last) }, 'id')).map(({ id }) => String(id));
    });
    expect(written.length).toBeGreaterThan(waitingMessages);
    await waitUntil(
      'the client has all that was written since',
      soonMs,
      () => follower.events.slice(seen).length >= written.length,
    );
    expect(follower.events.slice(seen).map(({ id }) => id)).toEqual(written);
    const ids = follower.events.map(({ id }) => BigInt(id));
    expect(ids).toEqual(ids.toSorted((one, other) => (one < other ? -1 : 1)));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

const SPEND_TRANSACTION_IDS = `do $$ begin for n in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$`;

async function started(startServer: Way['startServer']): Promise<PostgresServer> {
  const server = await startServer();
  onTestFinished(() => server.stop());
  return server;
}

async function onServer<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
