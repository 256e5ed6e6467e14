// Alert destinations. `secret` and `url` leave the database only to send something.
import { now } from '../../../rows/columns.ts';
import { alertDestinations } from '../../../rows/alerts.ts';
import type { Database } from '../../../database/database.ts';
import { eq, query } from '../../../database/drizzle.ts';
import { transaction } from '../../../database/transaction.ts';
import { isUniqueViolation, storeKey, type KeyedRequest } from '../../../database/idempotency.ts';

export type AlertDestination = typeof alertDestinations.$inferSelect;

export type DestinationChange = 'done' | 'unknown' | 'name_taken';

/**
 * Stores a destination; `full`: there are `most` of them. Rejects with a violated primary key when
 * another request has stored the key.
 */
export function insertDestination(
  database: Database,
  destination: typeof alertDestinations.$inferInsert,
  most: number,
  idempotency: KeyedRequest | null,
): Promise<'done' | 'full' | 'name_taken'> {
  const insert = transaction(database.views, async (tx) => {
    if ((await tx.rows.$count(alertDestinations)) >= most) return 'full';
    const { rowCount } = await tx.rows
      .insert(alertDestinations)
      .values(destination)
      .onConflictDoNothing({ target: alertDestinations.id });
    if (rowCount === 1) await storeKey(tx, idempotency, { id: destination.id });
    return 'done';
  });
  return insert.catch(refuseName);
}

/** Changes a destination. With another address it no longer waits for its next attempt. */
export function updateDestination(
  database: Database,
  id: string,
  change: Partial<typeof alertDestinations.$inferInsert>,
): Promise<DestinationChange> {
  const update = query(database.views, (db) =>
    db
      .update(alertDestinations)
      .set({ ...change, ...(change.url === undefined ? {} : { dueMs: now }) })
      .where(eq(alertDestinations.id, id)),
  );
  return update.then(({ rowCount }): DestinationChange => (rowCount === 1 ? 'done' : 'unknown')).catch(refuseName);
}

function refuseName(error: unknown): 'name_taken' {
  if (isUniqueViolation(error, 'alert_destinations_name')) return 'name_taken';
  throw error;
}

/** Deletes a destination with what it is being sent; false: it does not exist. */
export async function deleteDestination(database: Database, id: string): Promise<boolean> {
  const { rowCount } = await query(database.views, (db) =>
    db.delete(alertDestinations).where(eq(alertDestinations.id, id)),
  );
  return rowCount === 1;
}

/**
 * Stores the key of a test with the id of what is sent; false: the destination does not exist.
 * Rejects as `insertDestination` does.
 */
export function beginTest(
  database: Database,
  id: string,
  { callId, idempotency }: { callId: string; idempotency: KeyedRequest | null },
): Promise<boolean> {
  return transaction(database.views, async (tx) => {
    if ((await tx.rows.$count(alertDestinations, eq(alertDestinations.id, id))) === 0) return false;
    await storeKey(tx, idempotency, { callId });
    return true;
  });
}

/** A destination with all that is needed to send something there, or null. */
export async function readDestination(database: Database, id: string): Promise<AlertDestination | null> {
  const [found] = await query(database.views, (db) =>
    db.select().from(alertDestinations).where(eq(alertDestinations.id, id)),
  );
  return found ?? null;
}
