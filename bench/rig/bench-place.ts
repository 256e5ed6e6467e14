// Where the service and the floor run side by side: one PostgreSQL server, the one that `npm start` brings, with databases for
// each. The service keeps its queue in its database, or with `redis` in a Redis server beside it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/start-embedded-postgres.ts';
import { migrate } from '../../src/store/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';

export interface BenchPlace {
  dataDir: string;
  /** The database that a service on this data directory uses by itself, migrated. */
  databaseUrl: string;
  /** Another one, for a service with its queue in Redis, migrated. */
  redisDatabaseUrl: string;
  /** The floor's, empty. */
  floorUrl: string;
  /** A database that nobody works in. */
  adminUrl: string;
  close(): Promise<void>;
}

/** Brings up the server on a new data directory. */
export async function openBenchPlace(): Promise<BenchPlace> {
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const server = await startEmbeddedPostgres({ dataDir });
  const urlOf = (database: string): string => new URL(`/${database}`, server.url).toString();
  const place = {
    dataDir,
    databaseUrl: server.url,
    redisDatabaseUrl: urlOf('holdfast_redis'),
    floorUrl: urlOf('floor'),
    adminUrl: urlOf('postgres'),
  };
  await runOn(place.adminUrl, ['create database holdfast_redis', 'create database floor']);
  await migrate(place.databaseUrl);
  await migrateQueue(place.databaseUrl);
  await migrate(place.redisDatabaseUrl);
  return {
    ...place,
    async close() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function runOn(url: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
