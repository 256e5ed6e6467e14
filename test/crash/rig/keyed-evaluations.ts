// Requests to the POST routes of evaluations, for keyed-scenarios.ts.
import { newId } from '../../../src/ids.ts';
import { addBatches } from '../../rows/batches.ts';
import { addDatasetItems, addDatasets, addEvaluations } from '../../rows/evaluations.ts';
import { changeOnce, count, nameOf, type Ground, type KeyedScenario } from './keyed-ground.ts';

const SPEC = { candidates: [{ name: 'now' }], graders: [{ type: 'contains', text: 'yes' }] };

async function addDataset(ground: Ground, session: string): Promise<string> {
  const datasetId = newId<string>();
  await addDatasets(ground, { id: datasetId, name: nameOf(session) });
  await addDatasetItems(ground, { datasetId, n: 1 });
  return datasetId;
}

async function addEvaluation(ground: Ground, session: string, row: { status: string; runCount?: number }) {
  const [id, batchId] = [newId<string>(), newId<string>()];
  const spec = { ...SPEC, primary: 'contains', repeats: 1, split: 'work', effect: 5 };
  await addEvaluations(ground, { id, datasetId: await addDataset(ground, session), batchId, spec, ...row });
  return { id, batchId };
}

const PAUSE = `update holdfast.batches set status = 'paused', pause_reason = 'manual' where id = $1`;
const RESUME = `update holdfast.batches set status = 'running', pause_reason = null where id = $1`;

const COMMANDS = [
  { verb: 'pause', batch: { status: 'running' }, back: RESUME, changed: 'paused' },
  { verb: 'resume', batch: { status: 'paused', pauseReason: 'manual' }, back: PAUSE, changed: 'running' },
  { verb: 'cancel', batch: { status: 'running' }, back: RESUME, changed: 'cancelling' },
];

export const KEYED_EVALUATIONS: KeyedScenario[] = [
  {
    name: 'an evaluation',
    route: '/v1/evaluations',
    async prepare(ground, session) {
      const datasetId = await addDataset(ground, session);
      return {
        path: '/v1/evaluations',
        body: { dataset: datasetId, ...SPEC },
        status: 201,
        effects: () => count(ground, 'holdfast.evaluations where dataset_id = $1', [datasetId]),
      };
    },
  },
  {
    name: 'an evaluation and cancel before it runs',
    route: '/v1/evaluations/{id}/cancel',
    async prepare(ground, session) {
      const { id } = await addEvaluation(ground, session, { status: 'preparing' });
      return {
        path: `/v1/evaluations/${id}/cancel`,
        body: {},
        status: 200,
        ...changeOnce(ground, {
          id,
          back: `update holdfast.evaluations set status = 'preparing', outcome = null, ended_at = null where id = $1`,
          isChanged: `holdfast.evaluations where id = $1 and outcome = 'cancelled'`,
        }),
      };
    },
  },
  ...COMMANDS.map(({ verb, batch, back, changed }): KeyedScenario => ({
    name: `an evaluation and ${verb}`,
    route: `/v1/evaluations/{id}/${verb}`,
    async prepare(ground, session) {
      const { id, batchId } = await addEvaluation(ground, session, { status: 'running', runCount: 1 });
      await addBatches(ground, { id: batchId, ...batch });
      const isChanged = `holdfast.batches where id = $1 and status = '${changed}'`;
      return {
        path: `/v1/evaluations/${id}/${verb}`,
        body: {},
        status: 200,
        ...changeOnce(ground, { id: batchId, back, isChanged }),
      };
    },
  })),
];
