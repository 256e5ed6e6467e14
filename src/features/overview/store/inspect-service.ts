// Reads the state of a service's processes from outside, through the database that they share.
import pg from 'pg';
import type { HealthFact } from '../rules/service-health.ts';
import { readRetentionLag, type RetentionLag } from '../../retention/retention-kinds.ts';
import { readServiceHealth } from '../views/service-health.ts';

/** Longer than the statement needs on any database that is in order. */
const ANSWER_MS_MAX = 5_000;

/**
 * What keeps the service on this database from working. Rejects when the database does not answer,
 * or has another layout.
 */
export async function inspectService(databaseUrl: string): Promise<HealthFact[]> {
  return await inspect(databaseUrl, readServiceHealth);
}

/** How late the deletion of old rows is. Rejects as `inspectService` does. */
export async function inspectRetention(databaseUrl: string): Promise<RetentionLag[]> {
  return await inspect(databaseUrl, readRetentionLag);
}

async function inspect<Found>(databaseUrl: string, read: (client: pg.Client) => Promise<Found>): Promise<Found> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'holdfast:inspect',
    connectionTimeoutMillis: ANSWER_MS_MAX,
    query_timeout: ANSWER_MS_MAX,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await read(client);
  } finally {
    await client.end();
  }
}
