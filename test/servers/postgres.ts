// PostgreSQL for tests. One server is shared by a whole run (`global-setup.ts` starts it); each
// test file works in a database of its own, cloned from one that has all migrations, so files can
// run at once and see nothing of each other.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { freemem } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { inject } from 'vitest';
import { readPostmasterFile } from '../../src/embedded-postgres/postmaster.ts';
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { startPostgresServer, type PostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The shared server's database `postgres`, as superuser. */
    postgresUrl: string;
  }
}

export interface TestDatabase {
  url: string;
  /** Ends remaining connections and removes the database. */
  drop(): Promise<void>;
}

const TEMPLATE = 'holdfast_template';

/**
 * Starts a server of the version that `HOLDFAST_TEST_PG` names: `embedded` (the default) or `15`.
 */
export function startTestPostgres(more: readonly string[] = [], parent?: string): Promise<PostgresServer> {
  const version = process.env['HOLDFAST_TEST_PG'] ?? 'embedded';
  if (version !== 'embedded' && version !== '15')
    throw new Error(`HOLDFAST_TEST_PG is "${version}"; allowed: embedded, 15`);
  return startPostgresServer(version === '15' ? 15 : 'embedded', more, parent);
}

/**
 * Starts the server that all tests share, except those that stop or kill their server. It is never
 * killed, so it need not write to the disk at each commit; creating and dropping hundreds of
 * databases would otherwise wait for the disk most of the time.
 */
export function startSharedPostgres(): Promise<PostgresServer> {
  return startTestPostgres(['fsync=off', 'full_page_writes=off'], memoryDirectory());
}

/**
 * A directory in memory, where the system has one and enough of both; undefined: none. Each cloned
 * database is some 400 new files, and their creation and removal on a disk takes a quarter of the
 * processor time of a run.
 */
function memoryDirectory(): string | undefined {
  const directory = '/dev/shm';
  if (!existsSync(directory)) return undefined;
  removeLeftovers(directory);
  const { bavail, bsize } = statfsSync(directory);
  return Math.min(bavail * bsize, freemem()) >= neededBytes ? directory : undefined;
}

const neededBytes = 6 * 1024 ** 3;

/** Removes the clusters of runs that were killed: in memory nothing else does. */
function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory).filter((found) => found.startsWith('holdfast-postgres-'))) {
    const cluster = join(directory, name);
    const file = readPostmasterFile(join(cluster, 'data'));
    if (file !== null && !isRunning(file.pid)) rmSync(cluster, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs as another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Makes the migrated database from which all others are cloned. No connection to it must remain.
 */
export async function createTemplate(server: PostgresServer): Promise<void> {
  const url = await server.createDatabase(TEMPLATE);
  await migrate(url);
  await migrateQueue(url);
}

/** A migrated, empty database on the shared server. */
export function withTestDatabase(): Promise<TestDatabase> {
  // The other strategy writes the whole template to the log, which takes seven times as much of the
  // processor.
  return makeDatabase(`template ${TEMPLATE} strategy file_copy`);
}

/** A database on the shared server that no version has laid out. */
export function withBareDatabase(): Promise<TestDatabase> {
  return makeDatabase('');
}

async function makeDatabase(how: string): Promise<TestDatabase> {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runOn(serverUrl, `create database ${name} ${how}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.toString(),
    drop: () => runOn(serverUrl, `drop database if exists ${name} with (force)`),
  };
}

async function runOn(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
