// Connections to the database of a benchmark, closed after their work.
import pg from 'pg';
import { statusOf } from './process-tree.ts';

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

/** The process that is the parent of every process of the database's server. */
export async function serverPidOf(databaseUrl: string): Promise<number> {
  const [row] = await askDatabase<{ pid: number }>(
    databaseUrl,
    `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
  );
  const parent = row === undefined ? undefined : statusOf(row.pid)?.parent;
  if (parent === undefined) throw new Error('the process of the PostgreSQL server was not found');
  return parent;
}
