// Files of OpenAI's clients. An upload is a row that nothing shows, its parts as they arrive, and one statement that completes it, with the key
// of the request. One that is broken off is deleted; one whose process crashed, or that takes too long, goes with the old files.
import { FILE_UPLOAD_HOURS } from '../core/batch/batch.ts';
import type { AskedBatch } from '../core/openai/batch-objects.ts';
import type { Database } from './database.ts';
import { keyedPart, keyValues, type KeyedRequest } from './idempotency.ts';
import { sendQuery } from './send-query.ts';
import { literal } from './statement.ts';

/** Files that one statement deletes. */
const TRIMMED_MAX = 20;
/** No statement runs as long as this: a part that was stored just before the end of its upload is committed when the file is deleted. */
const TRIM_AFTER = '1 minute';

export const BEGIN_FILE = literal({
  name: 'begin-client-file',
  purpose: 'Make a file that takes parts and that nothing shows yet.',
  text: `insert into holdfast.client_files (id, filename, purpose, created_by, expires_at)
values ($1, $2, $3, $4, clock_timestamp() + interval '${FILE_UPLOAD_HOURS} hours')`,
});

/** A file before its first part. */
export interface NewFile {
  id: string;
  filename: string;
  purpose: string;
  createdBy: string;
}

export async function beginFile(database: Database, file: NewFile): Promise<void> {
  await database.views.query(BEGIN_FILE.prepared([file.id, file.filename, file.purpose, file.createdBy]));
}

export const ADD_FILE_PART = literal({
  name: 'add-client-file-part',
  purpose: 'Store a part of a file whose upload may still continue. Answers a row when it did.',
  locking: 'The file, shared, so that it is not deleted meanwhile.',
  text: `with held as materialized (
  select id from holdfast.client_files where id = $1 and completed_at is null and expires_at > clock_timestamp() for share
)
insert into holdfast.client_file_parts (file_id, n, content) select held.id, $2::int, $3::bytea from held returning n`,
});

/** Stores part `n`, counted from 1. False: the time of the upload is over. */
export async function addFilePart(
  database: Database,
  part: { id: string; n: number; content: Buffer },
): Promise<boolean> {
  return (await sendQuery(database.views, ADD_FILE_PART.prepared([part.id, part.n, part.content]))).length > 0;
}

export const COMPLETE_FILE = literal({
  name: 'complete-client-file',
  purpose: 'Show a file whose parts are stored, and keep the key of its request. Answers a row when it did.',
  locking: 'The file.',
  text: `with completed as (
  update holdfast.client_files f set bytes = $2, completed_at = clock_timestamp(), expires_at = clock_timestamp() + $3 * interval '1 millisecond'
  where f.id = $1 and f.completed_at is null and f.expires_at > clock_timestamp() returning f.id
),
${keyedPart(4, `select json_build_object('fileId', id) from completed`)}
select id from completed`,
});

/** Completes it; rejects as `isKeyTaken` says when another request was first. False: the time of the upload is over. */
export async function completeFile(
  database: Database,
  file: { id: string; bytes: number; keepMs: number; idempotency: KeyedRequest | null },
): Promise<boolean> {
  const values = [file.id, file.bytes, file.keepMs, ...keyValues(file.idempotency)];
  return (await sendQuery(database.views, COMPLETE_FILE.prepared(values))).length > 0;
}

export const AWAIT_FILE = literal({
  name: 'await-client-file',
  purpose: 'Wait for parts of a file that are still being stored, such as one whose connection broke.',
  locking: 'The file.',
  text: 'select id from holdfast.client_files where id = $1 for update',
});

export const DELETE_FILE = literal({
  name: 'delete-client-file',
  purpose: 'Delete a file with its parts. Answers a row when there was one.',
  locking: 'The file, then its parts.',
  text: `with deleted as (delete from holdfast.client_files f where f.id = $1 returning f.id),
parts as (delete from holdfast.client_file_parts p using deleted where p.file_id = deleted.id)
select id from deleted`,
});

/** False: it does not exist. */
export async function deleteFile(database: Database, id: string): Promise<boolean> {
  // A part that is stored while a deletion waits for it would not be seen by it, and stay.
  await sendQuery(database.views, AWAIT_FILE.prepared([id]));
  return (await sendQuery(database.views, DELETE_FILE.prepared([id]))).length > 0;
}

export const FAIL_CLIENT_BATCH = literal({
  name: 'fail-client-batch',
  purpose: 'Store a batch whose lines were refused, with the key of its request.',
  text: `with made as (
  insert into holdfast.client_batches (id, input_file_id, endpoint, completion_window, metadata, errors)
  values ($1, $2, $3, $4, $5::json, $6::json) returning id
),
${keyedPart(7, `select json_build_object('batchId', id) from made`)}
select id from made`,
});

/** Stores it; rejects as `isKeyTaken` says when another request was first. */
export async function failClientBatch(
  database: Database,
  failed: { id: string; asked: AskedBatch; errors: readonly object[]; idempotency: KeyedRequest | null },
): Promise<void> {
  const { id, asked, errors, idempotency } = failed;
  const metadata = asked.metadata === null ? null : JSON.stringify(asked.metadata);
  await database.views.query(
    FAIL_CLIENT_BATCH.prepared([
      id,
      asked.inputFileId,
      asked.endpoint,
      asked.completionWindow,
      metadata,
      JSON.stringify(errors),
      ...keyValues(idempotency),
    ]),
  );
}

export const TRIM_CLIENT_FILES = literal({
  name: 'trim-client-files',
  purpose: 'Delete some files that have expired, and requests whose batch was deleted. Answers how many files.',
  locking: 'The rows that it deletes, skipping files that are locked.',
  text: `with expired as (
  select f.id from holdfast.client_files f where f.expires_at < clock_timestamp() - interval '${TRIM_AFTER}' order by f.expires_at limit ${TRIMMED_MAX} for update skip locked
),
parts as (delete from holdfast.client_file_parts p using expired where p.file_id = expired.id),
files as (delete from holdfast.client_files f using expired where f.id = expired.id returning 1),
requests as (
  delete from holdfast.client_batches c where c.created_at < clock_timestamp() - $1 * interval '1 millisecond'
    and not exists (select from holdfast.batches b where b.id = c.id)
)
select (select count(*) from files)::int as files`,
});

/** Deletes some; true: there may be more. `keepMs`: how long a request without a batch is kept. */
export async function trimClientFiles(database: Database, keepMs: number): Promise<boolean> {
  const [row] = await sendQuery<{ files: number }>(database.views, TRIM_CLIENT_FILES.prepared([keepMs]));
  return (row?.files ?? 0) === TRIMMED_MAX;
}
