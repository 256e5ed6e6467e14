// The form of a backup, how it is written from a database, and how it is loaded into one. It is
// lines of JSON, some of them followed by as many bytes as they say. It is compressed as a whole
// (gzip), whose checksum covers all of it, and it ends with a line that says so: a file that was
// cut off is never taken for a whole one.
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { hasSessions } from '../../database/inspect-database.ts';
import { layOut } from '../../database/migrate.ts';

/** A line, with the bytes that follow it. */
export interface Frame {
  head: Record<string, unknown>;
  bytes: Buffer;
}

/** A frame as it is written. */
export function encodeFrame(head: Record<string, unknown>, bytes?: Buffer): Buffer {
  const line = Buffer.from(`${JSON.stringify(bytes === undefined ? head : { ...head, bytes: bytes.length })}\n`);
  return bytes === undefined ? line : Buffer.concat([line, bytes]);
}

const NEWLINE = 10;
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** The frames of a stream. Throws a `SyntaxError` if it is not a backup, or ends within a frame. */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  let wanted: Record<string, unknown> | null = null;
  for await (const chunk of source) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      if (wanted === null) {
        const end = rest.indexOf(NEWLINE);
        if (end < 0 && rest.length > LINE_BYTES_MAX) throw new SyntaxError('a line is too long');
        if (end < 0) break;
        wanted = JSON.parse(rest.subarray(0, end).toString()) as Record<string, unknown>;
        rest = rest.subarray(end + 1);
      }
      const size = typeof wanted['bytes'] === 'number' ? wanted['bytes'] : 0;
      if (rest.length < size) break;
      const frame: Frame = { head: wanted, bytes: rest.subarray(0, size) };
      rest = rest.subarray(size);
      wanted = null;
      yield frame;
    }
  }
  if (wanted !== null || rest.length > 0) throw new SyntaxError('it ends in the middle');
}

// Reads all of a database for a backup: one transaction, so it is the state of one moment, while
// the service runs. BullMQ's tables are left out: the queue is the doorbell, and the reconciler
// rings again for all work that a restored database has.

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

// Loads a backup. One transaction lays the schema out as it was, loads the rows, and migrates to
// the layout of this version: the database is what it was before, or what the backup says, and
// nothing between.

/** It cannot be restored; the database is as it was. */
export class RestoreRefused extends Error {
  readonly code: 'not_a_backup' | 'not_empty' | 'in_use';
  constructor(code: RestoreRefused['code'], message: string) {
    super(message);
    this.name = 'RestoreRefused';
    this.code = code;
  }
}

/** The contents of a restored database. */
export interface RestoredFacts {
  header: BackupHeader;
  sessions: number;
  waiting: number;
  openTurns: number;
  /** Tool calls whose outcome is unknown: they may have run after the backup was made. */
  doubts: { sessionKey: string; turnId: string; callId: string; name: string }[];
}

interface RestoreOptions {
  databaseUrl: string;
  frames: AsyncGenerator<Frame>;
  /** True: the contents of the database are replaced. */
  replaces: boolean;
  /** Takes the other frames: files. */
  onFile: (frame: Frame) => Promise<void>;
}

/**
 * Restores. Throws `RestoreRefused`, `MigrationError`, and errors of the driver; the database is
 * then unchanged.
 */
export async function restoreDatabase(options: RestoreOptions): Promise<RestoredFacts> {
  const { databaseUrl, frames, replaces } = options;
  const header = await readHeader(frames);
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'holdfast:restore' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await refuseInUse(client);
    if (!replaces && (await hasSessions(client)))
      throw new RestoreRefused(
        'not_empty',
        'The database has sessions. Restore into another data directory, or replace them with --yes.',
      );
    await client.query('begin');
    await client.query('drop schema if exists holdfast cascade');
    await layOut(client, { upTo: header.migrations });
    await client.query('set local session_replication_role = replica');
    await clear(client);
    await load(client, frames, options);
    await client.query('set local session_replication_role = origin');
    await layOut(client, {});
    const facts = await readFacts(client, header);
    await client.query('commit');
    return facts;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    await client.end();
  }
}

async function readHeader(frames: AsyncGenerator<Frame>): Promise<BackupHeader> {
  const first = await frames.next().catch(() => null);
  const head = first?.done === false ? (first.value.head as Partial<BackupHeader>) : {};
  if (head.format !== BACKUP_FORMAT || !Array.isArray(head.migrations))
    throw new RestoreRefused('not_a_backup', 'The file is no backup of Holdfast, or one of another form.');
  return head as BackupHeader;
}

async function refuseInUse(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'holdfast:%' limit 1`,
  );
  if (rows.length > 0)
    throw new RestoreRefused(
      'in_use',
      `A process of Holdfast uses the database (${rows[0]?.name}). Stop the service first.`,
    );
}

/** Migrations insert rows; those of the backup take their place. */
async function clear(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ tables: string | null }>(
    `select string_agg(format('holdfast.%I', tablename), ', ') as tables from pg_tables where schemaname = 'holdfast' and tablename <> 'migrations'`,
  );
  if (rows[0]?.tables) await client.query(`truncate ${rows[0].tables} cascade`);
}

async function load(
  client: pg.Client,
  frames: AsyncGenerator<Frame>,
  { onFile }: Pick<RestoreOptions, 'onFile'>,
): Promise<void> {
  let frame = await readNext(frames);
  while (frame !== null) {
    const { head } = frame;
    if (head['isComplete'] === true) return;
    if (typeof head['table'] === 'string') {
      frame = await loadTable(client, frames, { name: head['table'], columns: head['columns'] as string[] });
      continue;
    }
    if (typeof head['sequence'] === 'string')
      await client.query('select setval($1::regclass, $2)', [`holdfast.${head['sequence']}`, head['value']]);
    else if (typeof head['file'] === 'string') await onFile(frame);
    else throw new RestoreRefused('not_a_backup', 'The backup has a part that this version does not know.');
    frame = await readNext(frames);
  }
  throw new RestoreRefused('not_a_backup', 'The backup is cut off: its end is missing.');
}

/** Loads the rows that follow; resolves with the frame after them. */
async function loadTable(
  client: pg.Client,
  frames: AsyncGenerator<Frame>,
  { name, columns }: { name: string; columns: readonly string[] },
): Promise<Frame | null> {
  let after: Frame | null = null;
  async function* rows(): AsyncGenerator<Buffer> {
    for (;;) {
      const frame = await readNext(frames);
      if (frame?.head['rows'] !== name) {
        after = frame;
        return;
      }
      yield frame.bytes;
    }
  }
  const names = columns.map((column) => client.escapeIdentifier(column)).join(', ');
  const copy = `copy holdfast.${client.escapeIdentifier(name)} (${names}) from stdin (format binary)`;
  await pipeline(Readable.from(rows(), { objectMode: false }), client.query(copyFrom(copy)));
  return after;
}

async function readNext(frames: AsyncGenerator<Frame>): Promise<Frame | null> {
  const next = await frames.next();
  return next.done === true ? null : next.value;
}

async function readFacts(client: pg.Client, header: BackupHeader): Promise<RestoredFacts> {
  const { rows } = await client.query<Omit<RestoredFacts, 'header' | 'doubts'>>(`
    select (select count(*) from holdfast.sessions)::int as sessions,
      (select count(*) from holdfast.inbox where status in ('waiting', 'delayed'))::int as waiting,
      (select count(*) from holdfast.turns where ended_at is null)::int as "openTurns"`);
  const doubts = await client.query<RestoredFacts['doubts'][number]>(`
    select s.key as "sessionKey", t.id as "turnId", c.call_id as "callId", c.name
    from holdfast.turns t join holdfast.sessions s on s.id = t.session_id
    join holdfast.tool_calls c on c.turn_id = t.id and c.step = t.steps and c.result is null and c.status = 'intent'
      and (c.held_for is null or c.runs > 0)
    where t.ended_at is null order by t.id, c.ordinal`);
  // The select has one row.
  return { header, ...rows[0]!, doubts: doubts.rows };
}
