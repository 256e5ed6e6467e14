// The secret of tokens: made once for all processes, and then only read.
import { randomBytes } from 'node:crypto';
import type { Database } from '../../../database/database.ts';
import { query } from '../../../database/drizzle.ts';
import { REQUEST_RETRY_MS } from '../../../database/passing-faults.ts';
import { tokenSecrets } from '../rows.ts';

const SECRET_BYTES = 32;

/** Null: no token was made yet. */
export async function readSecret({ views }: Database): Promise<Buffer | null> {
  const [row] = await query(views, (db) => db.select().from(tokenSecrets), REQUEST_RETRY_MS);
  return row?.secret ?? null;
}

/**
 * The secret, which this call makes unless there is one. Of processes that make it at the same
 * time, one inserts the row; the others wait for it and then read it.
 */
export async function ensureSecret(database: Database): Promise<Buffer> {
  const known = await readSecret(database);
  if (known !== null) return known;
  const row = { secret: randomBytes(SECRET_BYTES) };
  await query(database.views, (db) => db.insert(tokenSecrets).values(row).onConflictDoNothing(), REQUEST_RETRY_MS);
  const made = await readSecret(database);
  if (made === null) throw new Error('the secret of tokens was deleted while it was made');
  return made;
}
