// Facts about the database: its version, and its layout.
import { viewQuery } from '../../database/literal-query.ts';

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
