// Loads a backup. One transaction lays the schema out as it was, loads the rows, and migrates to the layout of this version: the database is
// what it was before, or what the backup says, and nothing between.
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { hasSessions } from '../../database/inspect-database.ts';
import { layOut } from '../../database/migrate.ts';
import type { Frame } from './frames.ts';
import { BACKUP_FORMAT, type BackupHeader } from './write-backup.ts';

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

/** Restores. Throws `RestoreRefused`, `MigrationError`, and errors of the driver; the database is then unchanged. */
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
    where t.ended_at is null and coalesce(t.park_code, '') <> 'caller' order by t.id, c.ordinal`);
  // The select has one row.
  return { header, ...rows[0]!, doubts: doubts.rows };
}
