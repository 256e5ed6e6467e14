// The catalogue of models.
import { z } from 'zod';
import { namedModels } from '../../config.ts';
import { defineRead, type Route } from '../../api/route.ts';
import { modelCatalogue, type CatalogueModel } from '../../contract/models.ts';
import { listCatalogue } from '../../core/catalogue/catalogue.ts';
import { perMillionTokens } from '../../core/prices/price-row.ts';
import { priceAt } from '../../core/prices/price-table.ts';

const getCatalogue = defineRead({
  operationId: 'getModelCatalogue',
  path: '/v1/models/catalogue',
  summary:
    'What is known of models: windows, limits, inputs, thinking levels and prices. Other models can be asked, too',
  query: z.strictObject({
    provider: z.string().min(1).max(200).optional().describe('Only models of this provider'),
  }),
  shows: { description: 'The models', schema: modelCatalogue },
  async read({ query: { provider } }, { context }) {
    const { config, service, clock } = context;
    const day = clock.now().toISOString().slice(0, 10);
    const named = namedModels(config);
    const rows = listCatalogue(config.models.catalogue).filter(
      ({ model }) => provider === undefined || model.startsWith(`${provider}/`),
    );
    const items = rows.map((row): CatalogueModel => {
      const priced = priceAt(service.prices.table, { model: row.model, day });
      const prices = priced === null ? null : perMillionTokens(priced.prices);
      return {
        ...row,
        input: row.input === null ? null : [...row.input],
        thinking: row.thinking === null ? null : [...row.thinking],
        inputPerMTok: prices?.inputPerMTok ?? null,
        outputPerMTok: prices?.outputPerMTok ?? null,
        usedBy: named.get(row.model) ?? [],
      };
    });
    return { items };
  },
});

export const routes: Route[] = [getCatalogue];
