// Pages of lists, by key and never by offset: a page costs the same however deep it lies, and rows
// that arrive meanwhile move nothing.
import type { Pool } from 'pg';
import type { StorageWatch } from './watch-storage.ts';

/**
 * The connections that views read through, with what this process knows of the disk: a full disk
 * cannot be stored as a row.
 */
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

/**
 * Makes a page of items that were read with `limit + 1`: the extra one shows that there are more.
 */
export function cutPage<Item>(read: Item[], limit: number, keyOf: (item: Item) => string): Page<Item> {
  const items = read.slice(0, limit);
  const last = items.at(-1);
  return { items, next: read.length > limit && last !== undefined ? keyOf(last) : null };
}

// Ids grow with time: their first 48 bits are the milliseconds of it. So a span of time is a span
// of the primary key.

/** SQL of the least id that is made at a time. */
export function idOfTimeSql(time: string): string {
  return `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid`;
}

/** The least id that is made at this time. */
export function idAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}

/** SQL of a new UUIDv7, for rows that a statement makes by itself. */
export const NEW_ID_SQL = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`;
