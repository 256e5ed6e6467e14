// Files of OpenAI's clients. An upload is a row that nothing shows, its parts as they arrive, and
// one transaction that completes it, with the key of the request. One that is broken off is
// deleted; one whose process crashed, or that takes too long, goes with the old files.
import type { AskedBatch } from '../../batches/rules/batch.ts';
import { FILE_UPLOAD_HOURS, type LineError } from '../rules/batch-objects.ts';
import { clientBatches, clientFileParts, clientFiles } from '../../../rows/client-files.ts';
import { fromNow, now } from '../../../rows/columns.ts';
import type { Database } from '../../../database/database.ts';
import { and, eq, gt, inArray, isNotNull, isNull, lt, query, sql } from '../../../database/drizzle.ts';
import { transaction } from '../../../database/transaction.ts';
import { storeKey, type KeyedRequest } from '../../../database/idempotency.ts';

/** Files that one transaction deletes. */
const TRIMMED_MAX = 20;
/**
 * No upload of a part takes as long as this: one that began just before the end of its file is over
 * when the file is deleted.
 */
const TRIM_AFTER_MS = 60_000;

/** A file before its first part. */
export type NewFile = Pick<typeof clientFiles.$inferInsert, 'id' | 'filename' | 'purpose' | 'createdBy' | 'owner'>;

const idOf = { id: clientFiles.id };

const isTaking = (id: string) =>
  and(eq(clientFiles.id, id), isNull(clientFiles.completedAt), gt(clientFiles.expiresAt, now));

const isCompleted = (id: string) => and(eq(clientFiles.id, id), isNotNull(clientFiles.completedAt));

/** Makes a file that takes parts. */
export async function beginFile(database: Database, file: NewFile): Promise<void> {
  const row = { ...file, expiresAt: fromNow(FILE_UPLOAD_HOURS * 3_600_000) };
  await query(database.views, (db) => db.insert(clientFiles).values(row));
}

/** Stores part `n`, counted from 1. False: the time of the upload is over. */
export function addFilePart(database: Database, part: { id: string; n: number; content: Buffer }): Promise<boolean> {
  const { id, ...rest } = part;
  return transaction(database.views, async (tx) => {
    // Shared, so that it is not deleted meanwhile.
    const [held] = await tx.rows.select(idOf).from(clientFiles).where(isTaking(id)).for('share');
    if (held !== undefined) await tx.rows.insert(clientFileParts).values({ fileId: id, ...rest });
    return held !== undefined;
  });
}

/**
 * Shows it; rejects as `isKeyTaken` says when another request was first. False: the time of the
 * upload is over.
 */
export function completeFile(
  database: Database,
  { id, bytes, keepMs, idempotency }: { id: string; bytes: number; keepMs: number; idempotency: KeyedRequest | null },
): Promise<boolean> {
  const complete = { bytes, completedAt: now, expiresAt: fromNow(keepMs) };
  return transaction(database.views, async (tx) => {
    const [shown] = await tx.rows.update(clientFiles).set(complete).where(isTaking(id)).returning(idOf);
    if (shown !== undefined) await storeKey(tx, idempotency, { fileId: id });
    // It is completed already when the answer of the commit was lost.
    return (shown ?? (await tx.rows.select(idOf).from(clientFiles).where(isCompleted(id)))[0]) !== undefined;
  });
}

/** Deletes it with its parts, after those that are being stored. False: it does not exist. */
export function deleteFile(database: Database, id: string): Promise<boolean> {
  return transaction(database.views, async (tx) => {
    const { rowCount } = await tx.rows.delete(clientFiles).where(eq(clientFiles.id, id));
    await tx.rows.delete(clientFileParts).where(eq(clientFileParts.fileId, id));
    return rowCount === 1;
  });
}

/**
 * Stores a batch whose lines were refused; rejects as `isKeyTaken` says when another request was
 * first.
 */
export function failClientBatch(
  database: Database,
  failed: { id: string; asked: AskedBatch; errors: readonly LineError[]; idempotency: KeyedRequest | null },
): Promise<void> {
  const { id, asked, errors, idempotency } = failed;
  return transaction(database.views, async (tx) => {
    const { rowCount } = await tx.rows
      .insert(clientBatches)
      .values({ id, ...asked, errors })
      .onConflictDoNothing();
    if (rowCount === 1) await storeKey(tx, idempotency, { batchId: id });
  });
}

/**
 * Deletes some files that have expired, and requests whose batch was deleted, after `keepMs`; true:
 * there may be more files.
 */
export function trimClientFiles(database: Database, keepMs: number): Promise<boolean> {
  const isOld = lt(clientFiles.expiresAt, fromNow(-TRIM_AFTER_MS));
  const isAlone = sql<boolean>`not exists (select from holdfast.batches b where b.id = ${clientBatches.id})`;
  return transaction(database.views, async (tx) => {
    const old = tx.rows.select(idOf).from(clientFiles).where(isOld).orderBy(clientFiles.expiresAt).limit(TRIMMED_MAX);
    const ids = (await old.for('update', { skipLocked: true })).map(({ id }) => id);
    await tx.rows.delete(clientFileParts).where(inArray(clientFileParts.fileId, ids));
    await tx.rows.delete(clientFiles).where(inArray(clientFiles.id, ids));
    await tx.rows.delete(clientBatches).where(and(lt(clientBatches.createdAt, fromNow(-keepMs)), isAlone));
    return ids.length === TRIMMED_MAX;
  });
}
