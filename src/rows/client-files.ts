// Files that OpenAI's clients upload, and what they ask of a batch beside its items.
import type { AskedBatch } from '../features/batches/rules/batch.ts';
import type { LineError } from '../features/openai/rules/batch-objects.ts';
import { bytea, count, holdfast, integer, json, now, text, time, uuid } from './columns.ts';

export const clientFiles = holdfast.table('client_files', {
  id: uuid().notNull(),
  filename: text().notNull(),
  purpose: text().notNull(),
  bytes: count().notNull().default(0),
  createdBy: text().notNull(),
  /** The root of what its key makes (`rootOfKey`), when that key has a scope; null: it has none. */
  owner: text(),
  createdAt: time().notNull().default(now),
  /** Null: it is still being uploaded. */
  completedAt: time(),
  expiresAt: time().notNull(),
});

export const clientFileParts = holdfast.table('client_file_parts', {
  fileId: uuid().notNull(),
  /** From 1. */
  n: integer().notNull(),
  content: bytea().notNull(),
});

/** The id is that of the batch; one whose lines were refused has errors, and no batch. */
export const clientBatches = holdfast.table('client_batches', {
  id: uuid().notNull(),
  inputFileId: uuid().notNull(),
  endpoint: text().notNull(),
  completionWindow: text().notNull(),
  metadata: json().$type<AskedBatch['metadata']>(),
  errors: json().$type<readonly LineError[]>(),
  createdAt: time().notNull().default(now),
});
