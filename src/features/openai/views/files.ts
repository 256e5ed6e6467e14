// Files and batches of OpenAI's clients, as they are stored.
import { sql } from '../../../database/drizzle.ts';
import type { ClientBatch, ClientFile } from '../rules/batch-objects.ts';
import type { ViewDatabase } from '../../../database/page.ts';

const FILE_COLUMNS = sql`f.id, f.filename, f.purpose, f.bytes::float8 as bytes, f.created_at as "createdAt",
  f.expires_at as "expiresAt", 'upload' as kind`;

/** Which part of a list. */
export interface ListPart {
  /** Only older files. */
  after: string | null;
  limit: number;
}

/** An upload that is complete and has not expired; null: it does not exist. */
export async function findFile(db: ViewDatabase, id: string): Promise<ClientFile | null> {
  const { rows } = await db.query<ClientFile>(sql`
    select ${FILE_COLUMNS} from holdfast.client_files f
    where f.id = ${id} and f.completed_at is not null and f.expires_at > clock_timestamp()`);
  return rows[0] ?? null;
}

/** Uploads, newest first. */
export async function listFiles(db: ViewDatabase, { after, limit }: ListPart): Promise<ClientFile[]> {
  const { rows } = await db.query<ClientFile>(sql`
    select ${FILE_COLUMNS} from holdfast.client_files f
    where f.completed_at is not null and f.expires_at > clock_timestamp() and (${after}::uuid is null or f.id < ${after}::uuid)
    order by f.id desc limit ${limit}`);
  return rows;
}

/** The bytes of an upload, part by part. */
export async function* readFileParts(db: ViewDatabase, id: string): AsyncGenerator<Buffer> {
  for (let n = 1; ; n += 1) {
    const { rows } = await db.query<{ content: Buffer }>(sql`
      select p.content from holdfast.client_file_parts p where p.file_id = ${id} and p.n = ${n}`);
    if (rows[0] === undefined) return;
    yield rows[0].content;
  }
}

const BATCH_COLUMNS = sql`c.id, c.input_file_id as "inputFileId", c.endpoint, c.completion_window as "completionWindow", c.metadata, c.errors,
  c.created_at as "createdAt", b.status, coalesce(b.outcome = 'cancelled', false) as "isCancelled", b.started_at as "startedAt", b.ended_at as "endedAt",
  b.deadline_at as "deadlineAt", b.item_count as total, b.answered + b.silent as completed, b.failed, b.cancelled, b.expired`;

type BatchRow = Omit<ClientBatch, 'batch'> &
  Omit<NonNullable<ClientBatch['batch']>, 'status'> & {
    /** Null: there is no batch. */
    status: string | null;
  };

const IS_SHOWN = sql`(c.errors is not null or b.id is not null)`;

/** Null: it does not exist, or it was deleted. */
export async function findClientBatch(db: ViewDatabase, id: string): Promise<ClientBatch | null> {
  const { rows } = await db.query<BatchRow>(sql`
    select ${BATCH_COLUMNS} from holdfast.client_batches c left join holdfast.batches b on b.id = c.id where c.id = ${id} and ${IS_SHOWN}`);
  return rows[0] === undefined ? null : toBatch(rows[0]);
}

/** Newest first. */
export async function listClientBatches(db: ViewDatabase, { after, limit }: ListPart): Promise<ClientBatch[]> {
  const { rows } = await db.query<BatchRow>(sql`
    select ${BATCH_COLUMNS} from holdfast.client_batches c left join holdfast.batches b on b.id = c.id
    where ${IS_SHOWN} and (${after}::uuid is null or c.id < ${after}::uuid) order by c.id desc limit ${limit}`);
  return rows.map(toBatch);
}

function toBatch(row: BatchRow): ClientBatch {
  const { id, inputFileId, endpoint, completionWindow, metadata, errors, createdAt, status, ...batch } = row;
  const asked = { id, inputFileId, endpoint, completionWindow, metadata, errors, createdAt };
  return { ...asked, batch: status === null ? null : { status, ...batch } };
}
