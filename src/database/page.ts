// Pages of lists, by key and never by offset: a page costs the same however deep it lies, and rows that arrive meanwhile move nothing.
import type { Pool } from 'pg';
import type { StorageWatch } from './watch-storage.ts';

/** The connections that views read through, with what this process knows of the disk: a full disk cannot be stored as a row. */
export type ViewDatabase = Pool & { storage?: StorageWatch };

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

/** Makes a page of items that were read with `limit + 1`: the extra one shows that there are more. */
export function cutPage<Item>(read: Item[], limit: number, keyOf: (item: Item) => string): Page<Item> {
  const items = read.slice(0, limit);
  const last = items.at(-1);
  return { items, next: read.length > limit && last !== undefined ? keyOf(last) : null };
}
