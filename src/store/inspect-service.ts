// Looks at the processes of a service from outside, through the database that they share.
import pg from 'pg';
import type { HealthFact } from '../core/service-health.ts';
import { readServiceHealth } from './views/service-health.ts';

/** Longer than the statement needs on any database that is in order. */
const ANSWER_MS_MAX = 5_000;

/** What keeps the service on this database from working. Rejects when the database does not answer, or has another layout. */
export async function inspectService(databaseUrl: string): Promise<HealthFact[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'holdfast:inspect',
    connectionTimeoutMillis: ANSWER_MS_MAX,
    query_timeout: ANSWER_MS_MAX,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await readServiceHealth(client);
  } finally {
    await client.end();
  }
}
