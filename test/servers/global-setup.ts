// Runs once before the tests of a project and once after them: the PostgreSQL server that they share.
import type { TestProject } from 'vitest/node';
import { createTemplate, startSharedPostgres } from './postgres.ts';
import { isRedisWanted } from './redis.ts';

/** Starts the server and gives the tests its address; the returned function stops it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
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
  project.provide('postgresUrl', server.url);
  return () => server.stop();
}
