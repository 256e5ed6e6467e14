// The ids of the rows that a filter finds, newest first. An index answers some conditions; the others read the rows that those leave, newest
// first and only so many of them. So a page costs the same however many rows there are: when it has read that many, it may have fewer items
// than its limit, and the next page continues where it stopped.
import { join, raw, sql, type Sql } from '../../database/drizzle.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';

/** The rows of a table that meet all conditions, which call a row by the first letter of the table. */
export interface Filtered {
  table: 'turns' | 'deliveries';
  indexed: Sql[];
  rest: Sql[];
}

/** The maximum number of rows that one page reads. */
const READ_MAX = 20_000;

/** A page of the ids. */
export async function findIds(db: ViewDatabase, filtered: Filtered, page: PageRequest): Promise<Page<string>> {
  const { rows } = await db.query<{ id: string }>(matchingSql(filtered, page));
  const ids = rows.map(({ id }) => id);
  if (ids.length > page.limit) return { items: ids.slice(0, page.limit), next: ids[page.limit - 1] ?? null };
  if (filtered.rest.length === 0) return { items: ids, next: null };
  const { rows: last } = await db.query<{ id: string }>(
    sql`${indexedSql(filtered, page.after)} offset ${READ_MAX - 1} limit 1`,
  );
  return { items: ids, next: last[0]?.id ?? null };
}

/** All ids, oldest first, at most `limit`. It reads every row for which there is no better index. */
export async function findAllIds(db: ViewDatabase, filtered: Filtered, limit: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(matchingSql(filtered, { limit: limit - 1, after: null }, null));
  return rows.map(({ id }) => id).toReversed();
}

/** SQL of the ids of a page and of the one after it. Look-ups in scalar queries are by an index; a join could read a whole table. */
export function matchingSql(filtered: Filtered, { limit, after }: PageRequest, readMax: number | null = READ_MAX): Sql {
  const { table, rest } = filtered;
  if (rest.length === 0) return sql`${indexedSql(filtered, after)} limit ${limit + 1}`;
  const row = raw(table.charAt(0));
  return sql`select ${row}.id from (${indexedSql(filtered, after, '*')} limit ${readMax}) as ${row}
    where ${join(rest, ' and ')} order by ${row}.id desc limit ${limit + 1}`;
}

/** SQL of the rows that the indexes leave, newest first. */
export function indexedSql({ table, indexed }: Filtered, after: string | null, columns = 'id'): Sql {
  const row = table.charAt(0);
  const conditions = after === null ? indexed : [sql`${raw(row)}.id < ${after}`, ...indexed];
  const where = conditions.length === 0 ? raw('true') : join(conditions, ' and ');
  return sql`select ${raw(columns)} from holdfast.${raw(`${table} ${row}`)} where ${where} order by ${raw(row)}.id desc`;
}
