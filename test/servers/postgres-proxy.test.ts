// The proxy in front of a real PostgreSQL server, through real `pg` clients.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { startPostgresProxy, type PostgresProxy } from './postgres-proxy.ts';
import { startPostgresServer, type PostgresServer } from './postgres-server.ts';
import type { HeldBytes, RoundTrip } from './round-trips.ts';

let server: PostgresServer;
let proxy: PostgresProxy;
let direct: pg.Client;
const open: pg.Client[] = [];

beforeAll(async () => {
  server = await startPostgresServer();
  direct = new pg.Client({ connectionString: server.url });
  await direct.connect();
  await direct.query('create table note (id int primary key, text text)');
});

afterAll(async () => {
  await direct?.end();
  await server?.stop();
});

beforeEach(async () => {
  proxy = await startPostgresProxy({ host: '127.0.0.1', port: server.port });
  await direct.query('truncate note');
});

afterEach(async () => {
  await proxy.close();
  await Promise.allSettled(open.splice(0).map((client) => client.end()));
  await endBackends();
});

/**
 * Ends statements that the server still executes for broken connections; the next test must not see
 * the rows of this one.
 */
async function endBackends(): Promise<void> {
  const others = `from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;
  await direct.query(`select pg_terminate_backend(pid) ${others}`);
  await waitUntil('the server has no other connection', 150_000, async () => {
    const { rows } = await direct.query(`select pid ${others}`);
    return rows.length === 0;
  });
}

async function connected(label = 'holdfast:worker'): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: proxy.urlFor(server.url), application_name: label });
  client.on('error', () => {});
  await client.connect();
  open.push(client);
  return client;
}

function recorded(): RoundTrip[] {
  const trips: RoundTrip[] = [];
  proxy.onRoundTrip((trip) => {
    if (trip.outcome !== 'pending') trips.push({ ...trip });
  });
  return trips;
}

async function countNotes(): Promise<number> {
  const answer = await direct.query<{ n: number }>('select count(*)::int as n from note');
  return answer.rows[0]!.n;
}

const isInsert = (trip: RoundTrip): boolean => trip.tag === 'insert';

describe('counting', () => {
  test('each query is one round trip with its label, its SQL and the name in its first comment', async () => {
    const trips = recorded();
    const client = await connected();
    await client.query('/* simple */ select 1');
    await client.query('/* extended */ select $1::int', [1]);
    expect(trips.map(({ label, tag, outcome }) => [label, tag, outcome])).toEqual([
      ['holdfast:worker', 'simple', 'ok'],
      ['holdfast:worker', 'extended', 'ok'],
    ]);
    expect(trips[1]!.sql).toEqual(['/* extended */ select $1::int']);
  });

  test('a prepared statement carries its SQL although only its first use sends it', async () => {
    const trips = recorded();
    const client = await connected();
    const query = { name: 'add', text: '/* insert */ insert into note values ($1, $2)' };
    for (const id of [1, 2, 3]) await client.query({ ...query, values: [id, 'x'] });
    expect(trips.map(({ tag }) => tag)).toEqual(['insert', 'insert', 'insert']);
    expect(await countNotes()).toBe(3);
  });

  test('an error of the server ends the round trip and reaches the client', async () => {
    const trips = recorded();
    const client = await connected();
    await expect(client.query('/* bad */ select * from nothing')).rejects.toThrow('does not exist');
    await expect(client.query('/* bad */ select 1 / $1::int', [0])).rejects.toThrow('division by zero');
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(trips.map(({ outcome }) => outcome)).toEqual(['error', 'error', 'ok']);
  });

  test('the transaction state of each answer is known', async () => {
    const trips = recorded();
    const client = await connected();
    for (const sql of ['begin', 'select nothing', 'rollback']) await client.query(sql).catch(() => {});
    expect(trips.map(({ transactionState }) => transactionState)).toEqual(['T', 'E', 'I']);
  });

  test('several connections are distinguished and their round trips are numbered in one sequence', async () => {
    const trips = recorded();
    const [one, two] = [await connected('one'), await connected('two')];
    await one.query('select 1');
    await two.query('select 2');
    await one.query('select 3');
    expect(trips.map(({ label, connection, number }) => [label, connection, number])).toEqual([
      ['one', 1, 1],
      ['two', 2, 2],
      ['one', 1, 3],
    ]);
  });

  test('requests sent without waiting for answers are separate round trips in order', async () => {
    const trips = recorded();
    const client = new pg.Client({ connectionString: proxy.urlFor(server.url), pipeline: true });
    await client.connect();
    open.push(client);
    const answers = await Promise.all([1, 2, 3].map((n) => client.query(`/* n${n} */ select $1::int as n`, [n])));
    expect(answers.map(({ rows }) => rows)).toEqual([[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]]);
    expect(trips.map(({ tag }) => tag)).toEqual(['n1', 'n2', 'n3']);
  });

  test('large parameters and large answers pass unchanged', async () => {
    const client = await connected();
    const text = 'ä'.repeat(3_000_000);
    await client.query('insert into note values ($1, $2)', [1, text]);
    expect((await client.query<{ text: string }>('select text from note')).rows[0]!.text).toBe(text);
  });

  test('a client that asks for encryption is refused it', async () => {
    const client = new pg.Client({ connectionString: proxy.urlFor(server.url), ssl: true });
    await expect(client.connect()).rejects.toThrow('does not support SSL');
  });

  test('NOTIFY reaches a listening client although it asked for nothing', async () => {
    const client = await connected();
    await client.query('listen bell');
    const heard = new Promise<string | undefined>((resolve) =>
      client.once('notification', (note) => resolve(note.payload)),
    );
    await direct.query(`notify bell, 'ring'`);
    expect(await heard).toBe('ring');
  });
});

describe('breaking', () => {
  test('dropped before, the request never reaches the server', async () => {
    const client = await connected();
    const broken = proxy.arm({ when: 'before', at: 1, matches: isInsert, hit: () => 'drop' });
    await expect(client.query('/* insert */ insert into note values (1)')).rejects.toThrow('Connection terminated');
    expect((await broken.reached).tag).toBe('insert');
    expect(await countNotes()).toBe(0);
  });

  test('dropped after, the server executed it and the client never receives the answer', async () => {
    const client = await connected();
    const broken = proxy.arm({ when: 'after', at: 1, matches: isInsert, hit: () => 'drop' });
    await expect(client.query('/* insert */ insert into note values ($1)', [1])).rejects.toThrow(
      'Connection terminated',
    );
    expect((await broken.reached).outcome).toBe('ok');
    expect(await countNotes()).toBe(1);
  });

  test('held before, the server sees the request only when it is let go, and other connections do not wait', async () => {
    const [held, other] = [await connected(), await connected()];
    const gate = Promise.withResolvers<void>();
    const hit = Promise.withResolvers<void>();
    proxy.arm({
      when: 'before',
      at: 1,
      matches: isInsert,
      hit: async (): Promise<HeldBytes> => {
        hit.resolve();
        await gate.promise;
        return 'forward';
      },
    });
    const query = held.query('/* insert */ insert into note values (1)');
    // Awaited below; when the test fails before that, it is interrupted and its rejection is
    // ignored.
    query.catch(() => undefined);
    await hit.promise;
    await other.query('/* insert */ insert into note values (2)');
    expect(await countNotes()).toBe(1);
    gate.resolve();
    expect((await query).rowCount).toBe(1);
    expect(await countNotes()).toBe(2);
  });

  test('held after, the server has executed it before the client receives the answer', async () => {
    const client = await connected();
    let notesWhileHeld = -1;
    proxy.arm({
      when: 'after',
      at: 1,
      matches: isInsert,
      hit: async (): Promise<HeldBytes> => {
        notesWhileHeld = await countNotes();
        return 'forward';
      },
    });
    expect((await client.query('/* insert */ insert into note values (1) returning id')).rows).toEqual([{ id: 1 }]);
    expect(notesWhileHeld).toBe(1);
  });

  test('the k-th matching round trip is the one, counted from when it was armed, and only once', async () => {
    const client = await connected();
    const insert = (id: number): Promise<unknown> => client.query(`/* insert */ insert into note values (${id})`);
    await insert(1);
    const seen: string[] = [];
    const broken = proxy.arm({
      when: 'before',
      at: 2,
      matches: isInsert,
      hit: (trip) => {
        seen.push(trip.sql[0]!);
        return 'forward';
      },
    });
    await insert(2);
    await client.query('/* other */ select 1');
    expect(broken.isTaken()).toBe(false);
    for (const id of [3, 4, 5]) await insert(id);
    expect(broken.isTaken()).toBe(true);
    expect(seen).toEqual(['/* insert */ insert into note values (3)']);
  });

  test('in a pipeline, answers before the broken one arrive and later requests are lost with it', async () => {
    const client = new pg.Client({ connectionString: proxy.urlFor(server.url), pipeline: true });
    client.on('error', () => {});
    await client.connect();
    proxy.arm({ when: 'before', at: 2, matches: isInsert, hit: () => 'drop' });
    const insert = (id: number): Promise<unknown> => client.query('/* insert */ insert into note values ($1)', [id]);
    const ends = await Promise.allSettled([insert(1), insert(2), insert(3)]);
    expect(ends.slice(1).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const { rows } = await direct.query<{ id: number }>('select id from note where id > 1');
    expect(rows).toEqual([]);
  });

  test('a disarmed breakpoint is never reached', async () => {
    const client = await connected();
    const broken = proxy.arm({ when: 'before', at: 1, matches: isInsert, hit: () => 'drop' });
    broken.disarm();
    await client.query('/* insert */ insert into note values (1)');
    expect(broken.isTaken()).toBe(false);
  });

  test('a breakpoint that throws drops the connection and says why', async () => {
    const client = await connected();
    const broken = proxy.arm({
      when: 'after',
      at: 1,
      matches: isInsert,
      hit: () => {
        throw new Error('test is broken');
      },
    });
    await expect(client.query('/* insert */ insert into note values (1)')).rejects.toThrow();
    await expect(broken.reached).rejects.toThrow('test is broken');
  });

  test('severed connections fail immediately and new ones are served', async () => {
    const client = await connected();
    const waiting = client.query('select pg_sleep(30)');
    proxy.sever();
    await expect(waiting).rejects.toThrow(/terminated|ECONNRESET/);
    expect((await (await connected()).query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  });
});

// The crash tests observe a worker through the proxy. A proxy that delays each round trip, for
// example by collecting bytes for a while, would change what they observe: an ordinary round trip
// takes a fraction of a millisecond, and Nagle's algorithm alone adds 40.
test('the median round trip through the proxy takes less than ten times as long as without it', async () => {
  const client = await connected();
  const proxied: number[] = [];
  const plain: number[] = [];
  const time = async (of: pg.Client, times: number[]): Promise<void> => {
    const begin = performance.now();
    await of.query('select $1::int', [1]);
    times.push(performance.now() - begin);
  };
  // In turns, so that the load of the machine has the same effect on both.
  for (let n = 0; n < 300; n += 1) {
    await time(client, proxied);
    await time(direct, plain);
  }
  const median = (times: number[]): number => times.toSorted((a, b) => a - b)[150]!;
  expect(median(proxied)).toBeLessThan(median(plain) * 10);
});
