// What the database says of itself: whether it answers and takes writes, its version, and its
// layout.
import { sql } from '../../database/drizzle.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { viewQuery } from '../../database/literal-query.ts';

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

/**
 * Resolves when the database answers and takes writes; throws `ReadOnlyDatabaseError` when it only
 * answers.
 */
export async function pingDatabase(db: ViewDatabase): Promise<void> {
  const { rows } = await db.query<{ is_read_only: boolean }>(
    sql`select current_setting('transaction_read_only')::boolean as is_read_only`,
  );
  if (rows[0]?.is_read_only === true) throw new ReadOnlyDatabaseError();
}

export interface DatabaseFacts {
  /** PostgreSQL's own text, such as `18.1`. */
  version: string;
  /** The newest migration that was applied. */
  layout: string;
}

export const readDatabaseFacts = viewQuery({
  name: 'database-facts',
  purpose: 'Read the version of the database and its newest migration.',
  text: `select current_setting('server_version') as version, max(m.name) as layout from holdfast.migrations m`,
  // An aggregate without groups has one row.
  answer: ([facts]: DatabaseFacts[]) => facts!,
});
