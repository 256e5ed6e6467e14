// Keeps the table by which a worker prices its calls, before the first of them.
import { priceBookOf } from '../../config.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { storePriceVersion } from './store/price-versions.ts';

export async function keepPrices({ service: { database, config }, live }: Process): Promise<ProcessPart> {
  await storePriceVersion(database, priceBookOf(config));
  live.follow({ store: (next) => storePriceVersion(database, priceBookOf(next)) });
  return {};
}
