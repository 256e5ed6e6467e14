// The API keys that were made while the service ran.
import { fromNow, now } from '../../../rows/columns.ts';
import { apiKeys, signInCodes, webSessions } from '../../../rows/keys.ts';
import type { Database } from '../../../database/database.ts';
import { and, eq, isNull, lt, lte, or, query, sql, transact } from '../../../database/drizzle.ts';
import { isUniqueViolation, storeKey, type KeyedRequest } from '../../../database/idempotency.ts';

const NAME_INDEX = 'api_keys_live';
const NOTED_EVERY_MS = 60_000;

/** Stores a key; false: another valid key has its name. Rejects with a violated primary key when another request has stored the Idempotency-Key. */
export async function createApiKey(
  database: Database,
  key: typeof apiKeys.$inferInsert,
  idempotency: KeyedRequest | null,
): Promise<boolean> {
  const isExpired = and(eq(apiKeys.name, key.name), isNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, now));
  const create = transact(database.views, async (tx) => {
    // So that its name is free again.
    await tx.update(apiKeys).set({ revokedAt: apiKeys.expiresAt }).where(isExpired);
    const { rowCount } = await tx.insert(apiKeys).values(key).onConflictDoNothing({ target: apiKeys.id });
    if (rowCount === 1) await storeKey(tx, idempotency, { id: key.id });
    return true;
  });
  return create.catch((error: unknown) => {
    if (isUniqueViolation(error, NAME_INDEX)) return false;
    throw error;
  });
}

/** Revokes a key and ends the sign-ins that were made with it; false: it does not exist. */
export function revokeApiKey(database: Database, id: string): Promise<boolean> {
  const revokedAt = sql`coalesce(${apiKeys.revokedAt}, ${now})`;
  return transact(database.views, async (tx) => {
    const [key] = await tx.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, id)).returning();
    if (key === undefined) return false;
    await tx.delete(webSessions).where(eq(webSessions.keySha256, key.sha256));
    await tx.delete(signInCodes).where(eq(signInCodes.keySha256, key.sha256));
    return true;
  });
}

/** Notes that a key is in use, at most once per minute. */
export async function noteKeyUse(database: Database, id: string): Promise<void> {
  const isDue = or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, fromNow(-NOTED_EVERY_MS)));
  await query(database.views, (db) =>
    db
      .update(apiKeys)
      .set({ lastUsedAt: now })
      .where(and(eq(apiKeys.id, id), isDue)),
  );
}
