// Pages of lists, by key and never by offset: a page costs the same however deep it lies, and rows that arrive meanwhile move nothing.
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import type { Pool } from 'pg';

/** Where the views read from. They only read. */
export type ViewDatabase = NodePgDatabase<Record<string, never>> & { $client: Pool };

/** The requested part of a list: at most `limit` items after the item whose key is `after`. */
export interface PageRequest {
  limit: number;
  after: string | null;
}

/** `next` is the `after` of the following page, null when this is the last one. */
export interface Page<Item> {
  items: Item[];
  next: string | null;
}

/** Makes a page of rows that were read with `limit + 1`: the extra row shows that there are more. */
export function pageOf<Row, Item>(
  rows: Row[],
  limit: number,
  view: { item: (row: Row) => Item; key: (row: Row) => string },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown.map(view.item), next: rows.length > limit && last !== undefined ? view.key(last) : null };
}

/** A time as the API writes it. */
export function isoOf(time: Date): string {
  return time.toISOString();
}

/** The same for a time that may be null. */
export function isoOrNull(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}
