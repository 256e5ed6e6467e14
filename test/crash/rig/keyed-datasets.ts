// Requests that make data sets and give them items.
import { count, nameOf, type KeyedScenario } from './keyed-ground.ts';

const ITEMS = 'holdfast.dataset_items i join holdfast.datasets d on d.id = i.dataset_id where d.name = $1';

export const KEYED_DATASETS: KeyedScenario[] = [
  {
    name: 'a data set',
    route: '/v1/datasets',
    prepare: async (ground, session) => ({
      path: '/v1/datasets',
      body: { name: nameOf(session) },
      status: 201,
      effects: () => count(ground, 'holdfast.datasets where name = $1', [nameOf(session)]),
    }),
  },
  {
    name: 'items of a data set',
    route: '/v1/datasets/{dataset}/items',
    async prepare(ground, session) {
      await ground.post('/v1/datasets', { name: nameOf(session) });
      return {
        path: `/v1/datasets/${nameOf(session)}/items`,
        body: { items: [{ input: 'one' }] },
        status: 200,
        effects: () => count(ground, ITEMS, [nameOf(session)]),
      };
    },
  },
];
