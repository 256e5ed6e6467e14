// The versions of the price table by which calls were priced. A version names its rows, so it never changes and is never deleted: what a call
// cost can be proven as long as its row exists.
import type { PriceBook } from '../core/prices/price-table.ts';
import type { Database } from './database.ts';
import { sendQuery } from './send-query.ts';
import { literal } from './statement.ts';

export const STORE_PRICE_VERSION = literal({
  name: 'store-price-version',
  purpose: 'Keep a version of the price table. Storing it again changes nothing.',
  text: `insert into holdfast.price_versions (version, sha256, rows) values ($1, $2, $3::json) on conflict do nothing`,
});

/** Keeps the table of a process; to be called before its first call is priced. */
export async function storePriceVersion(database: Database, { version, sha256, table }: PriceBook): Promise<void> {
  await sendQuery(database.hot, STORE_PRICE_VERSION.prepared([version, sha256, JSON.stringify(table)]));
}
