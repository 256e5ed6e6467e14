// Rows of data sets and evaluations.
import { newId } from '../../src/ids.ts';
import { send, table, type Store } from './table.ts';

export const { read: readDatasets, add: addDatasets } = table(
  'datasets',
  'id',
  { text: 'id name agentId createdBy', 'text?': 'description', int: 'heldBackPercent version itemCount' },
  { ordinary: () => ({ id: newId<string>(), agentId: 'main', createdBy: 'test', version: 1 }) },
);

export const {
  read: readDatasetItems,
  add: addDatasetItems,
  change: changeDatasetItems,
} = table(
  'dataset_items',
  'dataset_id, n',
  {
    text: 'datasetId state split groupKey agentId',
    int: 'n version callCount',
    'text?': 'excluded turnId sessionKey input reply model',
    json: 'tags metadata steps',
    'json?': 'expected request',
    'int?': 'costMicros',
  },
  { ordinary: () => ({ version: 1, state: 'ready', groupKey: newId<string>(), agentId: 'main', input: 'What?' }) },
);

export const {
  read: readEvaluations,
  add: addEvaluations,
  change: changeEvaluations,
  count: countEvaluations,
} = table(
  'evaluations',
  'id',
  {
    text: 'id datasetId status batchId judgingBatchId createdBy',
    'text?': 'name outcome detail',
    int: 'datasetVersion itemCount excluded runCount judgementCount settled settledTo',
    json: 'spec',
    'json?': 'results',
    'int?': 'maxCostMicros',
    time: 'createdAt',
    'time?': 'endedAt',
  },
  {
    ordinary: () => ({
      id: newId<string>(),
      datasetVersion: 1,
      batchId: newId<string>(),
      judgingBatchId: newId<string>(),
      createdBy: 'test',
    }),
  },
);

export const {
  read: readEvaluationRuns,
  add: addEvaluationRuns,
  count: countEvaluationRuns,
} = table(
  'evaluation_runs',
  'evaluation_id, n, candidate, repeat, part',
  {
    text: 'evaluationId status sessionKey',
    int: 'n candidate repeat part',
    'text?': 'turnId reply',
    json: 'calls grades',
    'json?': 'output divergence error',
    'int?': 'costMicros ms score',
    'bool?': 'pass',
  },
  { ordinary: () => ({ status: 'answered', sessionKey: 'agent:main:try:x', turnId: newId<string>(), repeat: 1 }) },
);

/** Items of a data set, and two candidates with three runs of each, with replies of usual length. */
export async function addManyRuns(
  store: Store,
  { evaluationId, datasetId, items }: { evaluationId: string; datasetId: string; items: number },
): Promise<void> {
  await send(
    store,
    `insert into holdfast.dataset_items (dataset_id, n, version, state, group_key, agent_id, input, expected, tags, reply, request, steps)
     select $1, n, 1, 'ready', 'group' || n, 'main', 'What is ' || n || '?', to_json('It is ' || n), jsonb_build_object('tenth', (n % 10)::text), repeat('said ', 100),
       json_build_object('system', repeat('rule ', 400), 'n', n), '[]'
     from generate_series(1, $2::int) as n`,
    [datasetId, items],
  );
  await send(
    store,
    `insert into holdfast.evaluation_runs (evaluation_id, n, candidate, repeat, status, turn_id, session_key, reply, calls, cost_micros, ms, grades, pass, score)
     select $1::uuid, n, candidate, repeat, 'answered', gen_random_uuid(), 'agent:main:try:' || $1::uuid || '-' || n || '-' || candidate || '-' || repeat,
       (select string_agg(md5(n::text || candidate || repeat || part), ' ') from generate_series(1, 25) as part),
       json_build_array(json_build_object('name', 'find_order', 'input', json_build_object('id', n))), 1000 + n, 2000 + n,
       json_build_array(json_build_object('name', 'equal', 'pass', passed, 'score', passed::int, 'reason', repeat('because ', 10))), passed, passed::int
     from generate_series(1, $2::int) as n, generate_series(0, 1) as candidate, generate_series(1, 3) as repeat,
       lateral (select (n * 7 + candidate * 3 + repeat * 5) % 11 > 3 as passed) as graded`,
    [evaluationId, items],
  );
  await send(store, 'analyze holdfast.evaluation_runs, holdfast.dataset_items');
}
