// The prices that a configuration gives: the built-in table with its own rows over it.
import { hash } from 'node:crypto';
import { priceTable, type PriceBook } from '../core/prices/price-table.ts';
import type { Config } from './schema.ts';

const VERSION_CHARS = 12;

/** Makes the book of a configuration. Its version depends on the rows only. */
export function buildPriceBook({ models }: Pick<Config, 'models'>): PriceBook {
  const table = priceTable(models.prices);
  const sha256 = hash('sha256', JSON.stringify(table), 'hex');
  return { version: sha256.slice(0, VERSION_CHARS), sha256, table };
}

/** The book of the running configuration: it is another one after `models.prices` has changed. */
export function livePriceBook(config: Pick<Config, 'models'>): PriceBook {
  let known = { rows: config.models.prices, book: buildPriceBook(config) };
  const current = (): PriceBook => {
    const { prices } = config.models;
    if (known.rows !== prices) known = { rows: prices, book: buildPriceBook(config) };
    return known.book;
  };
  return {
    get version() {
      return current().version;
    },
    get sha256() {
      return current().sha256;
    },
    get table() {
      return current().table;
    },
  };
}
