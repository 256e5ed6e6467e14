// Runs once before the tests of a project and once after them: the PostgreSQL server that all
// projects share.
import type { TestProject } from 'vitest/node';
import { createTemplate, startSharedPostgres } from './postgres.ts';
import type { PostgresServer } from './postgres-server.ts';
import { isRedisWanted } from './redis.ts';

/** Vitest loads this file for each project anew, in one process. */
const holder = globalThis as { testPostgres?: { server: Promise<PostgresServer>; projects: number } | undefined };

/**
 * Starts the server, unless another project has, and gives the tests its address; the returned
 * function stops it after the last project.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = (holder.testPostgres ??= { server: startServer(), projects: 0 });
  shared.projects += 1;
  const server = await shared.server;
  project.provide('postgresUrl', server.url);
  return async () => {
    shared.projects -= 1;
    if (shared.projects > 0) return;
    holder.testPostgres = undefined;
    await server.stop();
  };
}

async function startServer(): Promise<PostgresServer> {
  if (!isRedisWanted()) {
    process.stderr.write(
      'No redis-server here: the tests of the Redis queue are left out (HOLDFAST_TEST_REDIS=on demands them).\n',
    );
  }
  const server = await startSharedPostgres();
  try {
    await createTemplate(server);
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}
