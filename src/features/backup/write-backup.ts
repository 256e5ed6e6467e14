// Reads all of a database for a backup: one transaction, so it is the state of one moment, while the service runs. BullMQ's tables are left
// out: the queue is the doorbell, and the reconciler rings again for all work that a restored database has.
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { encodeFrame } from './frames.ts';

/** The form of the file. */
export const BACKUP_FORMAT = 'holdfast-backup-1';

/** The fields of the first line. */
export interface BackupHeader {
  format: typeof BACKUP_FORMAT;
  /** The version of Holdfast that made it. */
  holdfast: string;
  createdAt: string;
  /** The layout, by the migrations that made it. */
  migrations: string[];
}

interface BackupOptions {
  databaseUrl: string;
  version: string;
  /** Called when a table is done. */
  onTable: (table: string, bytes: number) => void;
}

/** The frames of a backup, without the last one. Rejects with errors of the driver. */
export async function* databaseFrames({ databaseUrl, version, onTable }: BackupOptions): AsyncGenerator<Buffer> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdfast:backup' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read, read only');
    const applied = await client.query<{ name: string }>('select name from holdfast.migrations order by name');
    const header: BackupHeader = {
      format: BACKUP_FORMAT,
      holdfast: version,
      createdAt: new Date().toISOString(),
      migrations: applied.rows.map(({ name }) => name),
    };
    yield encodeFrame({ ...header });
    for (const { table, columns } of await listTables(client)) {
      yield encodeFrame({ table, columns });
      let bytes = 0;
      const names = columns.map((name) => client.escapeIdentifier(name)).join(', ');
      const copy = client.query(
        copyTo(`copy holdfast.${client.escapeIdentifier(table)} (${names}) to stdout (format binary)`),
      );
      for await (const chunk of copy as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        yield encodeFrame({ rows: table }, chunk);
      }
      onTable(table, bytes);
    }
    const sequences = await client.query<{ name: string; value: string }>(
      `select sequencename as name, last_value::text as value from pg_sequences where schemaname = 'holdfast' and last_value is not null`,
    );
    for (const { name, value } of sequences.rows) yield encodeFrame({ sequence: name, value });
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/** All tables but the list of migrations, with the columns that are stored. */
async function listTables(client: pg.Client): Promise<{ table: string; columns: string[] }[]> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(`
    select c.relname as table, array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    where n.nspname = 'holdfast' and c.relkind = 'r' and c.relname <> 'migrations'
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by c.relname order by c.relname`);
  return rows;
}
