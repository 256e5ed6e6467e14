// A query to the database of a benchmark, over a separate connection that is closed afterwards.
import pg from 'pg';

/** The rows of the answer. */
export async function askDatabase<Row extends object>(databaseUrl: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'bench' });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
