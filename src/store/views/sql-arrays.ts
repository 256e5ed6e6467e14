// Lists of values as one parameter of a query, so that its text does not depend on how many there are.
import { sql, type SQL } from '../drizzle.ts';

/** UUIDs as an array of PostgreSQL. */
export function idsOf(ids: readonly string[]): SQL {
  return sql`${`{${ids.join(',')}}`}::uuid[]`;
}

/** Words without commas, quotation marks and braces as an array of PostgreSQL. */
export function wordsOf(words: readonly string[]): SQL {
  return sql`${`{${words.join(',')}}`}::text[]`;
}
