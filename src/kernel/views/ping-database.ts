// Whether the database answers and takes writes.
import { sql } from '../../database/drizzle.ts';
import type { ViewDatabase } from '../../database/page.ts';

/** The code of the error of a database that takes no writes. */
export const READ_ONLY = 'read_only';

/** The database answers, and takes no writes: it is a standby, or was made read-only. */
class ReadOnlyDatabaseError extends Error {
  readonly code = READ_ONLY;
  constructor() {
    super('The database is read-only.');
    this.name = 'ReadOnlyDatabaseError';
  }
}

/** Resolves when the database answers and takes writes; throws `ReadOnlyDatabaseError` when it only answers. */
export async function pingDatabase(db: ViewDatabase): Promise<void> {
  const { rows } = await db.query<{ is_read_only: boolean }>(
    sql`select current_setting('transaction_read_only')::boolean as is_read_only`,
  );
  if (rows[0]?.is_read_only === true) throw new ReadOnlyDatabaseError();
}
