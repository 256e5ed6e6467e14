// The audit log: the changes that people and programs make through the API.
import { audit } from '../../rows/keys.ts';
import type { Database } from '../../database/database.ts';
import { and, eq, isNull, query, sql } from '../../database/drizzle.ts';
import { REQUEST_RETRY_MS } from '../../database/passing-faults.ts';

/** Who is about to change what. */
export type AuditedChange = Omit<typeof audit.$inferSelect, 'id' | 'at' | 'outcome'>;

/** Writes a change down, before it is made. */
export async function beginAudit(database: Database, id: string, change: AuditedChange): Promise<void> {
  const row = { id, ...change };
  await query(database.views, (db) => db.insert(audit).values(row).onConflictDoNothing(), REQUEST_RETRY_MS);
}

/** Stores the result of a change. `made`: the id of the created object. */
export async function endAudit(
  database: Database,
  id: string,
  { outcome, made }: { outcome: string; made: string | null },
): Promise<void> {
  const target = sql`${audit.target} || ${made === null ? '' : `/${made}`}`;
  const isOpen = and(eq(audit.id, id), isNull(audit.outcome));
  await query(database.views, (db) => db.update(audit).set({ outcome, target }).where(isOpen), REQUEST_RETRY_MS);
}
