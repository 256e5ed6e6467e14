// Goal: a start on a database that cannot be used ends with one sentence, a fix, an exit code and
// no stack trace, and the doctor says the same. Method: one real server with roles and databases
// that each lack one thing, and stand-ins for servers that are no PostgreSQL.
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Finding } from '../../src/cli/doctor/check.ts';
import { databaseChecks } from '../../src/cli/doctor/database-checks.ts';
import { explainStartFault } from '../../src/cli/explain-start-fault.ts';
import { loadConfig } from '../../src/config.ts';
import { CONNECTION_FAULTS, withCode } from '../../src/database/passing-faults.ts';
import { migrate } from '../../src/database/migrate.ts';
import { findFreePort } from '../servers/free-port.ts';
import type { PostgresServer } from '../servers/postgres-server.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { startServiceProcess } from '../servers/service-process.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { makeFolder } from './make-folder.ts';
import { runCli } from './run-cli.ts';

let server: PostgresServer;
let cwd: string;

shareAmongTests(async (onEnd) => {
  const started = await startTestPostgres();
  onEnd(() => started.stop());
  const folder = await makeFolder('holdfast-wrong-');
  onEnd(() => rm(folder, { recursive: true, force: true }));
  [server, cwd] = [started, folder];
});

async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const sql of statements) await client.query(sql);
  await client.end();
}

async function databaseWith(name: string, ...statements: string[]): Promise<string> {
  const url = await server.createDatabase(name);
  await run(url, ...statements);
  return url;
}

function as(role: string, url: string): string {
  const changed = new URL(url);
  changed.username = role;
  return changed.toString();
}

/** A start that ends by itself: its exit code and its output. */
async function failedStart(
  env: Record<string, string>,
  ...flags: string[]
): Promise<{ code: number | null; stderr: string }> {
  const { code, stderr, stdout } = await runCli(['start', ...flags], { cwd, env: { HOLDFAST_PORT: '0', ...env } });
  expect(stdout).toBe('');
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(stderr.trim().split('\n')).toHaveLength(2);
  return { code, stderr };
}

/**
 * The doctor's result for the database. Its check is called directly: a process for each would only
 * cost its start.
 */
async function examined(databaseUrl: string): Promise<Finding | undefined> {
  const config = loadConfig({ env: { HOLDFAST_PORT: '0', DATABASE_URL: databaseUrl }, cwd });
  return await databaseChecks(config)
    .find(({ code }) => code === 'database')
    ?.run();
}

interface Wrong {
  what: string;
  make: () => Promise<string>;
  code: number;
  says: RegExp;
}

const wrong: Wrong[] = [
  {
    what: 'an unknown role',
    make: async () => as('nemo', await server.createDatabase('role')),
    code: 10,
    says: /refuses the login: .*role "nemo" does not exist/,
  },
  {
    what: 'a role that may not create schemas',
    make: async () => as('guest', await databaseWith('poor', 'create role guest login')),
    code: 10,
    says: /role "guest" may not create schemas in the database "poor"/,
  },
  {
    what: 'a read-only database',
    make: () => databaseWith('frozen', 'alter database frozen set default_transaction_read_only = on'),
    code: 10,
    says: /"frozen" is read-only/,
  },
  {
    what: 'a schema of another program',
    make: () => databaseWith('foreign_one', 'create schema holdfast', 'create table holdfast.sessions (id int)'),
    code: 78,
    says: /"foreign_one" has a schema "holdfast" that was not made by Holdfast/,
  },
  {
    what: 'a table of another program in the place of ours',
    make: () => databaseWith('foreign_two', 'create schema holdfast', 'create table holdfast.migrations (version int)'),
    code: 78,
    says: /"foreign_two" has a schema "holdfast" that was not made by Holdfast/,
  },
  {
    what: 'PostgreSQL 14',
    make: () => standIn(answerAsPostgres14),
    code: 78,
    says: /PostgreSQL 14\.11 is too old: version 15/,
  },
  {
    what: 'a server that is no PostgreSQL',
    make: () => standIn((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    code: 4,
    says: /does not answer as PostgreSQL does/,
  },
  {
    what: 'a server that accepts and never answers',
    make: () => standIn(() => undefined),
    code: 4,
    says: /accepts connections but has not answered within 5 s/,
  },
];

describe.each(wrong)('on $what', ({ make, code, says }) => {
  test('a start ends with one sentence and a fix, and the doctor says the same', async () => {
    const databaseUrl = await make();
    const [ended, found] = await Promise.all([failedStart({ DATABASE_URL: databaseUrl }), examined(databaseUrl)]);
    expect(ended.stderr).toMatch(/^holdfast: .+\nFix: .+\n$/);
    expect(ended.stderr).toMatch(says);
    expect(ended.code).toBe(code);
    expect(found).toMatchObject({ status: 'error', reason: expect.stringMatching(says) });
  });
});

test('a database that does not answer, or breaks its connections, is a dependency that cannot be reached', () => {
  const codes = [...CONNECTION_FAULTS.keys()].map((words) => explainStartFault(withCode(new Error(words))));
  expect(codes).toMatchObject(codes.map(() => ({ code: 'unreachable', exitCode: 4 })));
});

test.each([[['migrate']], [['migrate', '--plan']], [['prices', 'reprice', '--from', '1h', '--yes']]])(
  'PostgreSQL 14 ends %j with one sentence and a fix',
  async (command) => {
    const { code, stdout, stderr } = await runCli(command, {
      cwd,
      env: { DATABASE_URL: await standIn(answerAsPostgres14) },
    });
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(/^holdfast: PostgreSQL 14\.11 is too old: .+\nFix: upgrade .+\n$/);
  },
);

test('a role that owns the schema needs no right to create others when the queue is in Redis', async () => {
  const url = await databaseWith('owned', 'create role owner login', 'create schema holdfast authorization owner');
  // A migration does not connect to Redis.
  const env = { DATABASE_URL: as('owner', url), REDIS_URL: 'redis://127.0.0.1:1' };
  expect(await runCli(['migrate'], { cwd, env })).toMatchObject({ code: 0 });
});

test('a database that confirms commits too early is a warning of the start and of the doctor', async () => {
  const databaseUrl = await databaseWith('hasty', 'alter database hasty set synchronous_commit = off');
  const service = await startServiceProcess({
    env: { HOLDFAST_DATA_DIR: join(cwd, 'hasty'), DATABASE_URL: databaseUrl },
  });
  onTestFinished(() => service.end('SIGKILL').then(() => undefined));
  await expect.poll(() => service.output()).toMatch(/warning +synchronous_commit is off/);
  expect(await examined(databaseUrl)).toMatchObject({
    status: 'warning',
    reason: expect.stringContaining('synchronous_commit'),
  });
});

test('a start without its Redis ends with one sentence and exit code 4', async () => {
  const databaseUrl = await server.createDatabase('without_redis');
  for (const roles of ['worker', 'api']) {
    const REDIS_URL = `redis://:hunter2@127.0.0.1:${await findFreePort()}`;
    const { code, stderr } = await failedStart({ DATABASE_URL: databaseUrl, REDIS_URL }, '--roles', roles);
    expect(stderr).toMatch(/^holdfast: Redis cannot be reached at 127\.0\.0\.1:\d+: .*ECONNREFUSED.*\nFix: start it/);
    expect(stderr).not.toContain('hunter2');
    expect(code).toBe(4);
  }
});

describe('with --no-migrate', () => {
  test('no role starts on a database without the layout', async () => {
    const databaseUrl = await server.createDatabase('empty');
    const ends = await Promise.all(
      ['api', 'worker', 'scheduler'].map((roles) =>
        failedStart({ DATABASE_URL: databaseUrl }, '--no-migrate', '--roles', roles),
      ),
    );
    for (const { code, stderr } of ends) {
      expect(stderr).toMatch(/lacks \d+ of the migrations .* the first is 0001_.*\nFix: run "holdfast migrate"/);
      expect(code).toBe(1);
    }
  });

  test('no role starts on a database whose layout lacks one migration', async () => {
    const databaseUrl = await server.createDatabase('behind');
    await migrate(databaseUrl);
    await run(databaseUrl, `delete from holdfast.migrations where name = (select max(name) from holdfast.migrations)`);
    const { code, stderr } = await failedStart({ DATABASE_URL: databaseUrl }, '--no-migrate');
    expect(stderr).toMatch(/lacks 1 of the migrations/);
    expect(code).toBe(1);
  });

  test('no role starts on a database without the tables of the queue', async () => {
    const databaseUrl = await server.createDatabase('no_queue');
    await migrate(databaseUrl);
    const { code, stderr } = await failedStart({ DATABASE_URL: databaseUrl }, '--no-migrate');
    expect(stderr).toMatch(/tables of the queue \(schema "bullmq"\) are missing/);
    expect(code).toBe(1);
  });
});

test('readiness is 503 when the layout is missing or too old', async () => {
  const databaseUrl = await server.createDatabase('replaced');
  const service = await startServiceProcess({
    roles: 'api',
    env: { HOLDFAST_DATA_DIR: join(cwd, 'replaced'), DATABASE_URL: databaseUrl },
  });
  onTestFinished(() => service.end('SIGKILL').then(() => undefined));
  const layout = async () => {
    const answer = await fetch(`${service.url}/readyz`);
    const { dependencies } = (await answer.json()) as { dependencies: { name: string; error: string | null }[] };
    return { status: answer.status, error: dependencies.find(({ name }) => name === 'layout')?.error };
  };
  expect(await layout()).toEqual({ status: 200, error: null });
  await run(databaseUrl, `delete from holdfast.migrations where name = (select max(name) from holdfast.migrations)`);
  expect(await layout()).toEqual({ status: 503, error: 'layout_missing' });
  await run(databaseUrl, 'drop schema holdfast cascade');
  expect(await layout()).toEqual({ status: 503, error: '42P01' });
});

/**
 * A server on loopback that handles each connection as `answer` says; resolves with the database
 * URL that names it.
 */
async function standIn(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const listening = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return `postgres://me@127.0.0.1:${(listening.address() as AddressInfo).port}/db`;
}

/**
 * Accepts every login, and answers every query with one row of one column: the number of the
 * version.
 */
function answerAsPostgres14(socket: Socket): void {
  let isIn = false;
  socket.on('data', (bytes) => {
    if (!isIn) {
      isIn = true;
      socket.write(Buffer.concat([message('R', int32(0)), READY]));
    } else if (bytes[0] === 'Q'.charCodeAt(0)) {
      const name = Buffer.from('server_version_num\0');
      const column = Buffer.concat([int16(1), name, int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)]);
      const value = Buffer.from('140011');
      const row = Buffer.concat([int16(1), int32(value.length), value]);
      socket.write(
        Buffer.concat([message('T', column), message('D', row), message('C', Buffer.from('SHOW\0')), READY]),
      );
    }
  });
}

function message(type: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

const READY = message('Z', Buffer.from('I'));
