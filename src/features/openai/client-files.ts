// Files of OpenAI's clients: stored in parts as they arrive, and batches that are made of them.
import type { KeyedRequest } from '../../database/idempotency.ts';
import { addFilePart, beginFile, completeFile, deleteFile, type NewFile } from './store/client-files.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

export { failClientBatch } from './store/client-files.ts';
export { deleteFile as removeFile };

const DAY_MS = 86_400_000;
const PART_BYTES = 1_048_576;

/**
 * Stores a file. False: the upload took longer than uploads may, so its rest was not read. `finish`
 * is called after the last byte, for the key of the request. Rejects with what reading rejects
 * with, and as `isKeyTaken` says. Nothing is kept of a file that is not stored.
 */
export async function uploadFile(
  { config, database }: Service,
  file: NewFile,
  content: AsyncIterable<Buffer>,
  finish: () => KeyedRequest | null,
): Promise<boolean> {
  await beginFile(database, file);
  let isComplete = false;
  try {
    let bytes = 0;
    let n = 0;
    for await (const part of inParts(content)) {
      n += 1;
      bytes += part.length;
      if (!(await addFilePart(database, { id: file.id, n, content: part }))) return false;
    }
    const keepMs = config.openai.fileDays * DAY_MS;
    isComplete = await completeFile(database, { id: file.id, bytes, keepMs, idempotency: finish() });
    return isComplete;
  } finally {
    if (!isComplete) await deleteFile(database, file.id);
  }
}

/** Cuts the bytes into parts of one size; the last one may be smaller. */
async function* inParts(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of content) {
    pieces.push(piece);
    size += piece.length;
    if (size < PART_BYTES) continue;
    const all = Buffer.concat(pieces);
    let at = 0;
    for (; all.length - at >= PART_BYTES; at += PART_BYTES) yield all.subarray(at, at + PART_BYTES);
    pieces = [all.subarray(at)];
    size = all.length - at;
  }
  if (size > 0) yield Buffer.concat(pieces);
}
