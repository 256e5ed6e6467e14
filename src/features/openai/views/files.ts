// Files and batches of OpenAI's clients, as they are stored.
import type { Scope } from '../../../core/scope.ts';
import { sql } from '../../../database/drizzle.ts';
import { listOf } from '../../../database/list-of.ts';
import type { ViewDatabase } from '../../../database/page.ts';
import type { ClientBatch, ClientFile } from '../rules/batch-objects.ts';

/** Uploads that are complete and have not expired. */
export const uploads = listOf<{ scope: Scope }, ClientFile>({
  name: 'list-client-files',
  purpose: 'Read uploads, newest first.',
  text: `select f.id, f.filename, f.purpose, f.bytes::float8 as bytes, f.created_at as "createdAt", f.expires_at as "expiresAt", 'upload' as kind
from holdfast.client_files f`,
  where: 'f.completed_at is not null and f.expires_at > clock_timestamp()',
  filters: {},
  seenBy: 'f.owner',
  order: 'f.id desc',
});

/** The bytes of an upload, part by part. */
export async function* readFileParts(db: ViewDatabase, id: string): AsyncGenerator<Buffer> {
  for (let n = 1; ; n += 1) {
    const { rows } = await db.query<{ content: Buffer }>(sql`
      select p.content from holdfast.client_file_parts p where p.file_id = ${id} and p.n = ${n}`);
    if (rows[0] === undefined) return;
    yield rows[0].content;
  }
}

type BatchRow = Omit<ClientBatch, 'batch'> &
  Omit<NonNullable<ClientBatch['batch']>, 'status'> & {
    /** Null: there is no batch. */
    status: string | null;
  };

/** Without those that were deleted. */
export const clientBatches = listOf<{ scope: Scope }, BatchRow, ClientBatch>({
  name: 'list-client-batches',
  purpose: "Read batches of OpenAI's clients, newest first.",
  text: `select c.id, c.input_file_id as "inputFileId", c.endpoint, c.completion_window as "completionWindow", c.metadata, c.errors,
  c.created_at as "createdAt", b.status, coalesce(b.outcome = 'cancelled', false) as "isCancelled", b.started_at as "startedAt", b.ended_at as "endedAt",
  b.deadline_at as "deadlineAt", b.item_count as total, b.answered + b.silent as completed, b.failed, b.cancelled, b.expired
from holdfast.client_batches c left join holdfast.batches b on b.id = c.id left join holdfast.client_files f on f.id = c.input_file_id
-- One whose lines were refused belongs to whom its file does.
cross join lateral (select coalesce(b.owner, f.owner) as owner) as made`,
  where: 'c.errors is not null or b.id is not null',
  filters: {},
  seenBy: 'made.owner',
  order: 'c.id desc',
  show: toBatch,
});

function toBatch(row: BatchRow): ClientBatch {
  const { id, inputFileId, endpoint, completionWindow, metadata, errors, createdAt, status, ...batch } = row;
  const asked = { id, inputFileId, endpoint, completionWindow, metadata, errors, createdAt };
  return { ...asked, batch: status === null ? null : { status, ...batch } };
}
