// Facts about the database: its version, and its layout.
import { literal } from '../statement.ts';
import type { ViewDatabase } from './page.ts';

export interface DatabaseFacts {
  /** PostgreSQL's own text, such as `18.1`. */
  version: string;
  /** The newest migration that was applied. */
  layout: string;
}

export const DATABASE_FACTS = literal({
  name: 'database-facts',
  purpose: 'Read the version of the database and its newest migration.',
  text: `select current_setting('server_version') as version, max(m.name) as layout from holdfast.migrations m`,
});

/** The current facts of the database. */
export async function readDatabaseFacts(db: ViewDatabase): Promise<DatabaseFacts> {
  const { rows } = await db.query<DatabaseFacts>(DATABASE_FACTS.prepared([]));
  // An aggregate without groups has one row.
  return rows[0]!;
}
