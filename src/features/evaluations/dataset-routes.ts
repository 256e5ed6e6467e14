// Data sets: made, given items, listed, deleted.
import type { Readable } from 'node:stream';
import { defaultAgentOf } from '../../config.ts';
import { deleted } from '../../contract/answers.ts';
import type { Answer } from '../../api/answer.ts';
import type { ApiContext } from '../../api/context.ts';
import { isItemNumber } from '../../api/cursor.ts';
import { answerOnce, answerUpload } from '../../api/idempotency-key.ts';
import { conflict, fieldProblem, notFound, requireFound } from '../../api/problem.ts';
import { defineEffect, defineList, defineRead, defineRoute, type AnyRequest, type Route } from '../../api/route.ts';
import { LineReader } from '../../api/upload.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { itemsOfLines, itemsOfList } from '../batches/read-items.ts';
import { itemsOfCases, itemsOfFilter, itemsOfTurns } from './add-items.ts';
import { deleteDataset, extendDataset, makeDataset } from './change-datasets.ts';
import * as schemas from './contract-datasets.ts';
import type { Addition, NewDatasetItem } from './store/datasets.ts';
import { datasetItems, datasets, findDataset } from './views/datasets.ts';

/** The largest body: one request holds all of it. */
const JSON_BYTES_MAX = 16_777_216;
const LINES_BYTES_MAX = 67_108_864;
const UPLOAD_HOURS = 1;

const postDataset = defineEffect({
  operationId: 'createDataset',
  belongs: 'service',
  path: '/v1/datasets',
  summary: 'Make a data set, which has no items yet',
  body: schemas.datasetRequest,
  answers: {
    201: { description: 'The data set', schema: schemas.dataset },
    409: { description: 'Another data set has the name' },
  },
  async perform({ body, principal, idempotency }, { context }) {
    const { config, service } = context;
    const { name, description = null, agent, heldBackPercent = 0 } = body;
    const agentId = agent ?? defaultAgentOf(config, principal.scope);
    const made = { name, description, agentId, heldBackPercent, createdBy: principal.name };
    const id = await makeDataset(service, made, idempotency);
    if (id !== null) return { id };
    throw conflict(`There is a data set named ${name}. Add items to it, or choose another name.`);
  },
  show: ({ id }: { id: string }, _request, { context }) => requireDataset(context, id),
});

const postItems = defineRoute({
  operationId: 'addDatasetItems',
  belongs: 'service',
  method: 'POST',
  path: '/v1/datasets/{dataset}/items',
  summary:
    'Add items to a data set, as one version: turns by their ids or by a filter, or cases as JSON or as application/x-ndjson with a case per line',
  isLong: true,
  takes: { as: 'lines', bodyBytesMax: JSON_BYTES_MAX },
  body: schemas.datasetItemsRequest,
  answers: {
    200: { description: 'What was added', schema: schemas.itemsAdded },
    400: { description: 'Items are not valid; the first 100 faults, each with its place' },
    413: { description: 'Too many items or bytes' },
  },
  async handle(request, { context }) {
    const { id } = await requireDataset(context, request.params.dataset);
    if (request.lines !== null) return addLines(context, { ...request, id }, request.lines);
    const choice = pickOne(request.body);
    return answerOnce(context.views, request.idempotency, {
      perform: async () => store(context, { id, items: await choose(context, choice), key: request.idempotency }),
      answer: toAnswer,
    });
  },
});

type Choice = ReturnType<typeof pickOne>;

/** The one field that says what is added. Throws `Problem`. */
function pickOne({ turns, filter, items }: ReturnType<(typeof schemas.datasetItemsRequest)['parse']>) {
  const named = Object.entries({ turns, filter, items }).flatMap(([name, value]) => (value === undefined ? [] : name));
  const got = named.length === 0 ? 'none of them' : named.join(' and ');
  if (named.length !== 1) throw fieldProblem('', `expected one of turns, filter and items, got ${got}`);
  return { turns, filter, items };
}

function choose({ service }: ApiContext, { turns, filter, items }: Choice): Promise<NewDatasetItem[]> {
  if (turns !== undefined) return itemsOfTurns(service, turns);
  return filter === undefined ? itemsOfCases(itemsOfList(items ?? [])) : itemsOfFilter(service, filter);
}

function addLines(
  context: ApiContext,
  { id, headers, idempotency }: Pick<AnyRequest, 'headers' | 'idempotency'> & { id: string },
  body: Readable,
): Promise<Answer> {
  const { limits } = context.config;
  const reader = new LineReader(body, {
    isGzip: headers['content-encoding']?.trim().toLowerCase() === 'gzip',
    limits: { ...limits, batchBytes: Math.min(limits.batchBytes, LINES_BYTES_MAX) },
    hoursMax: UPLOAD_HOURS,
  });
  const lines = itemsOfLines(reader.lines(), limits.jsonDepth);
  return answerUpload(context.views, idempotency, {
    content: lines,
    sha256: () => reader.sha256(),
    boundTo: (sha256) => ({ lines: sha256 }),
    async perform(bind) {
      const items = await itemsOfCases(lines);
      return store(context, { id, items, key: bind(reader.sha256()) });
    },
    answer: toAnswer,
  });
}

async function store(
  { service, openModel }: ApiContext,
  { id, items, key }: { id: string; items: readonly NewDatasetItem[]; key: KeyedRequest | null },
): Promise<Addition> {
  return requireFound(await extendDataset(service, { id, items, idempotency: key }, openModel), `data set ${id}`);
}

const toAnswer = async (added: Addition): Promise<Answer> => ({ status: 200, body: added });

const getDatasets = defineList({
  operationId: 'listDatasets',
  belongs: 'service',
  path: '/v1/datasets',
  summary: 'Data sets, newest first',
  shows: { description: 'A page of data sets', item: schemas.dataset },
  list: (_request, page, { context }) => datasets.list(context.reads, {}, page),
});

const getDataset = defineRead({
  operationId: 'getDataset',
  belongs: 'service',
  path: '/v1/datasets/{dataset}',
  summary: 'One data set, by its id or its name',
  shows: { description: 'The data set', schema: schemas.dataset },
  read: ({ params }, { context }) => requireDataset(context, params.dataset),
});

const getItems = defineList({
  operationId: 'listDatasetItems',
  belongs: 'service',
  path: '/v1/datasets/{dataset}/items',
  summary: 'The items of a data set, in the order of their numbers',
  filter: schemas.itemFilter,
  shows: { description: 'A page of items', item: schemas.datasetItem },
  pages: { isKey: isItemNumber },
  async list({ params, query }, page, { context }) {
    const { id } = await requireDataset(context, params.dataset);
    return datasetItems.list(context.views, { ...query, datasetId: id }, page);
  },
});

const dropDataset = defineRoute({
  operationId: 'deleteDataset',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/datasets/{dataset}',
  summary: 'Delete a data set with its items and its evaluations; the turns that were copied stay',
  answers: {
    200: { description: 'Deleted', schema: deleted },
    409: { description: 'An evaluation of it has not ended' },
  },
  async handle({ params }, { context }) {
    const { id, name } = await requireDataset(context, params.dataset);
    const result = await deleteDataset(context.service, id);
    if (result === 'unknown') throw notFound(`data set ${params.dataset}`);
    if (result === 'open')
      throw conflict(`An evaluation of the data set ${name} has not ended. Cancel it, or wait until it has.`);
    return { status: 200, body: { deleted: true } };
  },
});

async function requireDataset({ views }: ApiContext, named: string): Promise<schemas.DatasetView> {
  return requireFound(await findDataset(views, named), `data set ${named}`);
}

export const routes: Route[] = [postDataset, postItems, getDatasets, getDataset, getItems, dropDataset];
