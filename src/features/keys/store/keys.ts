// The API keys that were made while the service ran, and sign-ins of browsers with them.
import { fromNow, now } from '../../../rows/columns.ts';
import { apiKeys, signInCodes, webSessions } from '../../../rows/keys.ts';
import { isUuid } from '../../../core/ids.ts';
import { callerOfKey } from '../../../core/key-role.ts';
import { rootOfKey, rootsOf } from '../../../core/scope.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { Database } from '../../../database/database.ts';
import { and, desc, eq, inArray, isNull, lt, lte, or, query, sql } from '../../../database/drizzle.ts';
import { transaction, type Transaction } from '../../../database/transaction.ts';
import { isUniqueViolation, storeKey, type KeyedRequest } from '../../../database/idempotency.ts';
import { REQUEST_RETRY_MS } from '../../../database/passing-faults.ts';

const NAME_INDEX = 'api_keys_live';
const SUCCESSOR_INDEX = 'api_keys_successors';
const NOTED_EVERY_MS = 60_000;

/** The key with this id, or the newest one with this name; null: there is none. */
export async function findApiKey(database: Database, named: string): Promise<typeof apiKeys.$inferSelect | null> {
  const isNamed = isUuid(named) ? eq(apiKeys.id, named) : eq(apiKeys.name, named);
  const [key] = await query(database.views, (db) =>
    db.select().from(apiKeys).where(isNamed).orderBy(desc(apiKeys.createdAt)).limit(1),
  );
  return key ?? null;
}

/**
 * Stores a key, unless another valid key has its name or another key replaces the same one. Rejects
 * with a violated primary key when another request has stored the Idempotency-Key.
 */
export async function createApiKey(
  database: Database,
  key: typeof apiKeys.$inferInsert,
  idempotency: KeyedRequest | null,
): Promise<'created' | 'name_taken' | 'replaced'> {
  const isExpired = and(eq(apiKeys.name, key.name), isNull(apiKeys.revokedAt), lte(apiKeys.expiresAt, now));
  const create = transaction(database.views, async (tx) => {
    // So that its name is free again.
    await tx.rows.update(apiKeys).set({ revokedAt: apiKeys.expiresAt }).where(isExpired);
    const { rowCount } = await tx.rows.insert(apiKeys).values(key).onConflictDoNothing({ target: apiKeys.id });
    if (rowCount === 1) await storeKey(tx, idempotency, { id: key.id });
    const roots = rootsOf(key);
    // From its commit on, what is written gets the scope by itself.
    if (roots !== null) await knowScopes(tx, [...roots, rootOfKey(key.owner ?? callerOfKey(key.name))]);
    return 'created' as const;
  });
  return create.catch((error: unknown) => {
    if (isUniqueViolation(error, NAME_INDEX)) return 'name_taken';
    if (isUniqueViolation(error, SUCCESSOR_INDEX)) return 'replaced';
    throw error;
  });
}

export const knowScopes = literalQuery({
  name: 'know-scopes',
  purpose: 'Store the prefixes of a key that no key has had before.',
  text: `insert into holdfast.scopes (prefix) select unnest($1::text[]) on conflict do nothing`,
  values: (roots: string[]) => [roots],
});

/** Revokes a key and ends the sign-ins that were made with it; false: it does not exist. */
export function revokeApiKey(database: Database, id: string): Promise<boolean> {
  const revokedAt = sql`coalesce(${apiKeys.revokedAt}, ${now})`;
  return transaction(database.views, async (tx) => {
    const [key] = await tx.rows.update(apiKeys).set({ revokedAt }).where(eq(apiKeys.id, id)).returning();
    if (key === undefined) return false;
    await tx.rows.delete(webSessions).where(eq(webSessions.keySha256, key.sha256));
    await tx.rows.delete(signInCodes).where(eq(signInCodes.keySha256, key.sha256));
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

// Sign-ins of browsers: the sessions that their cookies name, and the codes for one sign-in each.

/** Ended sessions that a sign-in deletes. */
const TRIMMED_MAX = 100;

/** Signs a browser in with a key, and deletes some sessions that have ended. */
export async function openWebSession(
  database: Database,
  { lastsMs, ...session }: { id: string; secretSha256: string; keySha256: string; lastsMs: number },
): Promise<void> {
  const row = { ...session, expiresAt: fromNow(lastsMs) };
  await transaction(database.views, async (tx) => {
    const ended = tx.rows.select({ id: webSessions.id }).from(webSessions).where(lte(webSessions.expiresAt, now));
    const some = ended.orderBy(webSessions.expiresAt).limit(TRIMMED_MAX).for('update', { skipLocked: true });
    await tx.rows.delete(webSessions).where(inArray(webSessions.id, some));
    await tx.rows.insert(webSessions).values(row).onConflictDoNothing();
  });
}

/** Uses a code up; the SHA-256 of its key, or null. */
export async function takeSignInCode(database: Database, sha256: string): Promise<string | null> {
  // Not sent again after a fault: the code may have been used by the first attempt.
  const { keySha256, expiresAt } = signInCodes;
  const isValid = sql<boolean>`${expiresAt} > ${now}`;
  const [code] = await query(database.views, (db) =>
    db.delete(signInCodes).where(eq(signInCodes.sha256, sha256)).returning({ keySha256, isValid }),
  );
  return code?.isValid === true ? code.keySha256 : null;
}

/**
 * Stores a code that is valid for `lastsMs`, and deletes those that have expired; resolves with
 * when it expires.
 */
export function createSignInCode(
  database: Database,
  { lastsMs, ...code }: { sha256: string; keySha256: string; lastsMs: number },
  idempotency: KeyedRequest | null,
): Promise<string> {
  const row = { ...code, expiresAt: fromNow(lastsMs) };
  const create = async (tx: Transaction): Promise<string> => {
    await tx.rows.delete(signInCodes).where(lte(signInCodes.expiresAt, now));
    const [made] = await tx.rows.insert(signInCodes).values(row).returning({ expiresAt: signInCodes.expiresAt });
    await storeKey(tx, idempotency, { ...made });
    // An insert without a conflict clause returns its row.
    return made!.expiresAt;
  };
  return transaction(database.views, create, { retryMs: 0 });
}

/** Ends a session, or every session of a key; resolves with how many have ended. */
export async function endWebSessions(database: Database, of: { id: string } | { keySha256: string }): Promise<number> {
  const those = 'id' in of ? eq(webSessions.id, of.id) : eq(webSessions.keySha256, of.keySha256);
  const { rowCount } = await query(database.views, (db) => db.delete(webSessions).where(those), REQUEST_RETRY_MS);
  return rowCount ?? 0;
}
