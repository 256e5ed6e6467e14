// Keeps the table by which a worker prices its calls, before the first of them.
import { priceBookOf } from '../../config.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { storePriceVersion } from './store/price-versions.ts';

export async function keepPrices({ service: { database, config }, live }: Process): Promise<ProcessPart> {
  await storePriceVersion(database, priceBookOf(config));
  // A version that no call is priced by means nothing, so it may be stored before the others have
  // accepted the configuration.
  live.follow({ prepare: (next) => storePriceVersion(database, priceBookOf(next)) });
  return {};
}
