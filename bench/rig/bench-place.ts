// Where the service and the floor run side by side: one PostgreSQL server, the one that `npm start`
// brings, with a database for each. An older commit of the service has a place of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/start-embedded-postgres.ts';

export interface BenchPlace {
  dataDir: string;
  /** The database that a service on this data directory uses by itself, empty. */
  databaseUrl: string;
  /** Another one, for a service with its queue in Redis, empty. */
  redisDatabaseUrl: string;
  /** Another one, for a service of several processes, empty. */
  splitDatabaseUrl: string;
  /** The floor's, empty. */
  floorUrl: string;
  /** A database without any load. */
  adminUrl: string;
  /** Creates another empty one and returns its address. */
  createDatabase(name: string): Promise<string>;
  close(): Promise<void>;
}

/** Starts the server on a new data directory. */
export async function openBenchPlace(): Promise<BenchPlace> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const server = await startEmbeddedPostgres({ dataDir });
  const urlOf = (database: string): string => new URL(`/${database}`, server.url).toString();
  const adminUrl = urlOf('postgres');
  async function createDatabase(name: string): Promise<string> {
    const client = new pg.Client({ connectionString: adminUrl });
    await client.connect();
    await client.query(`create database ${name}`);
    await client.end();
    return urlOf(name);
  }
  return {
    dataDir,
    databaseUrl: server.url,
    redisDatabaseUrl: await createDatabase('holdfast_redis'),
    splitDatabaseUrl: await createDatabase('holdfast_split'),
    floorUrl: await createDatabase('floor'),
    adminUrl,
    createDatabase,
    async close() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
