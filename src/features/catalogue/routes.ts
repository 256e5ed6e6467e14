// The catalogue of models, and the providers with the states of their keys.
import { z } from 'zod';
import { listProviderKeys, namedModels } from '../../config.ts';
import { shownValue } from '../../config/secrets.ts';
import { overloaded } from '../../api/problem.ts';
import { defineRead, defineRoute, type Route } from '../../api/route.ts';
import {
  modelCatalogue,
  modelProbe,
  probeRequest,
  providers,
  type CatalogueModel,
  type ProviderView,
} from '../../contract/models.ts';
import { listCatalogue } from '../../core/models.ts';
import { priceAt } from '../../core/prices.ts';
import { perMillionTokens } from '../../core/price-row.ts';
import { accountOfKey } from '../../model/account.ts';
import { probeModel } from './probe.ts';
import { listHeldCalls, stateOfKey } from './views.ts';

const getCatalogue = defineRead({
  operationId: 'getModelCatalogue',
  belongs: 'service',
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

const getProviders = defineRead({
  operationId: 'listProviders',
  belongs: 'service',
  path: '/v1/providers',
  summary: 'The providers of models with the states of their keys',
  shows: { description: 'The providers', schema: providers },
  async read(_request, { context }) {
    const held = await listHeldCalls(context.views);
    const items = listProviderKeys(context.config).map(({ name, api, baseUrl, keys }): ProviderView => ({
      name,
      api,
      // A password in it is not shown (G31).
      baseUrl:
        baseUrl === null ? null : String(shownValue(`models.providers.${name}.baseUrl`, baseUrl, (text) => text)),
      keys: keys.map((key) => {
        const account = accountOfKey({ provider: name, api, baseUrl, key: key.key });
        const waits = held.filter((each) => each.account === account && each.model.startsWith(`${name}/`));
        return stateOfKey(key.name, waits);
      }),
    }));
    return { items };
  },
});

/**
 * How long a provider may take, and how many are asked at once: each asks for tokens that are paid.
 */
const PROBE_MS_MAX = 30_000;
const PROBES_MAX = 4;
const probing = new Set<AbortSignal>();

const postProbe = defineRoute({
  operationId: 'probeModel',
  belongs: 'service',
  method: 'POST',
  path: '/v1/models/probe',
  summary: 'Ask a provider for its models and a model for a few tokens, and say what is wrong',
  role: 'admin',
  body: probeRequest,
  answers: { 200: { description: 'What was found', schema: modelProbe } },
  async handle({ body }, { context }) {
    if (probing.size >= PROBES_MAX)
      throw overloaded(`${PROBES_MAX} models are probed already. Try again when they are done.`);
    const signal = AbortSignal.timeout(PROBE_MS_MAX);
    probing.add(signal);
    try {
      return { status: 200, body: await probeModel(await context.openModel(), body.model, signal) };
    } finally {
      probing.delete(signal);
    }
  },
});

export const routes: Route[] = [getCatalogue, getProviders, postProbe];
