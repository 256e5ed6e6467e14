// Restores a database into another cluster, as operators do: with pg_dump and pg_restore of
// Debian's PostgreSQL 15 where both servers are of that version, or, with no other program than the
// tests have, by migrating the new database and copying every row.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';

const run = promisify(execFile);
const binDir = '/usr/lib/postgresql/15/bin';

/**
 * Takes a backup of `fromUrl` now; the returned function restores it into the empty database at
 * `toUrl`.
 */
export type Backup = (fromUrl: string) => Promise<(toUrl: string) => Promise<void>>;

/** With `pg_dump -Fc` and `pg_restore`. */
export const dumpDatabase: Backup = async (fromUrl) => {
  const file = join(tmpdir(), `holdfast-${process.pid}-${performance.now()}.dump`);
  await run(join(binDir, 'pg_dump'), ['-Fc', '-f', file, fromUrl]);
  return async (toUrl) => {
    await run(join(binDir, 'pg_restore'), ['--exit-on-error', '--no-owner', '-d', toUrl, file]);
    rmSync(file);
  };
};

interface Table {
  name: string;
  columns: string[];
  rows: unknown;
}

/** Without any other program: every row of every table, and the state of every sequence. */
export const copyRows: Backup = async (fromUrl) => {
  const { tables, sequences } = await onClient(fromUrl, async (client) => {
    await client.query('begin isolation level repeatable read read only');
    const read = { tables: await readTables(client), sequences: await readSequences(client) };
    await client.query('commit');
    return read;
  });
  return async (toUrl) => {
    await migrate(toUrl);
    await migrateQueue(toUrl);
    await onClient(toUrl, async (client) => {
      // Keys to other tables are not checked: rows come table by table.
      await client.query(`begin; set local session_replication_role = replica`);
      await client.query(`truncate ${tables.map(({ name }) => name).join(', ')}`);
      for (const { name, columns, rows } of tables) {
        const list = columns.join(', ');
        const sql = `insert into ${name} (${list}) overriding system value
          select ${list} from json_populate_recordset(null::${name}, $1::json)`;
        await client.query(sql, [JSON.stringify(rows)]);
      }
      for (const { name, last } of sequences) await client.query('select setval($1::regclass, $2)', [name, last]);
      await client.query('commit');
    });
  };
};

async function readTables(client: pg.Client): Promise<Table[]> {
  const { rows: found } = await client.query<{ name: string; columns: string[] }>(
    `select format('%I.%I', n.nspname, c.relname) as name, array_agg(quote_ident(a.attname) order by a.attnum)::text[] as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where n.nspname in ('holdfast', 'bullmq') and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by 1 order by 1`,
  );
  const tables: Table[] = [];
  for (const table of found) {
    const { rows } = await client.query<{ rows: unknown }>(
      `select coalesce(json_agg(t), '[]') as rows from ${table.name} t`,
    );
    tables.push({ ...table, rows: rows[0]?.rows });
  }
  return tables;
}

async function readSequences(client: pg.Client): Promise<{ name: string; last: string }[]> {
  const { rows } = await client.query<{ name: string; last: string }>(
    `select format('%I.%I', schemaname, sequencename) as name, last_value::text as last from pg_sequences
     where schemaname in ('holdfast', 'bullmq') and last_value is not null`,
  );
  return rows;
}

async function onClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
