// API keys, as the API shows them and checks requests against them.
import type { ApiKeyView } from '../../contract/keys.ts';
import { fromNow, now } from '../../rows/columns.ts';
import { apiKeys, webSessions } from '../../rows/keys.ts';
import { and, desc, eq, getTableColumns, gt, inArray, isNull, lt, or, query, sql } from '../../database/drizzle.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';

/** The keys that open the API now. */
export function readValidApiKeys(db: ViewDatabase) {
  const { id, name, role, sha256, owner, expiresAt } = apiKeys;
  const isUseNoted = sql<boolean>`coalesce(${apiKeys.lastUsedAt} > ${fromNow(-60_000)}, false)`;
  const isValid = and(isNull(apiKeys.revokedAt), or(isNull(expiresAt), gt(expiresAt, now)));
  return query(db, (of) =>
    of.select({ id, name, role, sha256, owner, expiresAt, isUseNoted }).from(apiKeys).where(isValid),
  );
}

/** Those of these sign-ins that exist and have not ended. */
export function readWebSessions(
  db: ViewDatabase,
  ids: readonly string[],
): Promise<(typeof webSessions.$inferSelect)[]> {
  const those = and(inArray(webSessions.id, [...ids]), gt(webSessions.expiresAt, now));
  return query(db, (of) => of.select().from(webSessions).where(those));
}

const { sha256: _secret, owner: _owner, ...KEY_COLUMNS } = getTableColumns(apiKeys);

/** A key, or null. */
export async function viewApiKey(db: ViewDatabase, id: string): Promise<ApiKeyView | null> {
  const [key] = await query(db, (of) => of.select(KEY_COLUMNS).from(apiKeys).where(eq(apiKeys.id, id)));
  return key ?? null;
}

/** Keys, newest first, also those that are revoked. */
export async function listApiKeys(db: ViewDatabase, { after, limit }: PageRequest): Promise<Page<ApiKeyView>> {
  const isLater = after === null ? undefined : lt(apiKeys.id, after);
  const extra = limit + 1;
  const keys = await query(db, (of) =>
    of.select(KEY_COLUMNS).from(apiKeys).where(isLater).orderBy(desc(apiKeys.id)).limit(extra),
  );
  return cutPage(keys, limit, ({ id }) => id);
}
