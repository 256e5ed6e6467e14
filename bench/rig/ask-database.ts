// Connections to the database of a benchmark, closed after their work.
import pg from 'pg';

/** Runs the work with a connection. */
export async function withConnection<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'bench' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The rows of the answer. */
export function askDatabase<Row extends object>(databaseUrl: string, text: string): Promise<Row[]> {
  return withConnection(databaseUrl, async (client) => (await client.query<Row>(text)).rows);
}
