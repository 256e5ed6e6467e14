// The versions of the price table by which calls were priced. A version names its rows, so it never
// changes and is never deleted: what a call cost can be proven as long as its row exists.
import type { PriceBook } from '../../../core/prices.ts';
import { literalQuery } from '../../../database/literal-query.ts';

export const storePriceVersion = literalQuery({
  name: 'store-price-version',
  purpose:
    'Keep the price table of a process, before its first call is priced. Storing a version again changes nothing.',
  text: 'insert into holdfast.price_versions (version, sha256, rows) values ($1, $2, $3::json) on conflict do nothing',
  values: ({ version, sha256, table }: PriceBook) => [version, sha256, JSON.stringify(table)],
});
