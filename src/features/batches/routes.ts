// Batches: submitted, shown, controlled, and their results.
import { parseReceiver } from '../../core/channel-address.ts';
import { deleted } from '../../contract/answers.ts';
import { z } from 'zod';
import { toMicros } from '../../core/prices.ts';
import { controlBatch, deleteBatch, patchBatch } from './submit-batch.ts';
import type { BatchCommand, BatchControl } from './store/control.ts';
import { batchItems, resultLines } from './views/items.ts';
import { batches } from './views/batches.ts';
import type { ApiContext } from '../../api/context.ts';
import { isItemNumber } from '../../api/cursor.ts';
import { fieldProblem, conflict, requireFound, notFound } from '../../api/problem.ts';
import {
  defineEffect,
  defineRoute,
  defineList,
  defineRead,
  type ApiRequest,
  type NoFields,
  type Route,
} from '../../api/route.ts';
import * as schemas from './contract.ts';
import { answerLines, answerList } from './answer-submission.ts';
import { item } from '../../api/belongs.ts';

/** The largest JSON body of a batch; lines have a limit of their own. */
const JSON_BYTES_MAX = 16_777_216;
const conflictDoc = { description: 'Its state does not allow it' };
const shown = { 200: { description: 'The batch as it is now', schema: schemas.batch }, 409: conflictDoc };

const postBatch = defineRoute({
  operationId: 'postBatches',
  // What its items name is found as they are read.
  belongs: 'self',
  method: 'POST',
  path: '/v1/batches',
  summary:
    'Submit a batch, as JSON with items or as application/x-ndjson with an item per line and the settings in the query',
  isLong: true,
  takes: { as: 'lines', bodyBytesMax: JSON_BYTES_MAX },
  query: schemas.batchQuery,
  body: schemas.batchRequest,
  answers: {
    200: { description: 'With dryRun: what it would cost; nothing is stored', schema: schemas.batchEstimate },
    201: { description: 'The batch', schema: schemas.batch },
    400: { description: 'Items are not valid; the first 100 faults, each with its line' },
    413: { description: 'Too many items or bytes' },
  },
  async handle(request, { context }) {
    const { query, body, lines, principal, idempotency, headers } = request;
    const { dryRun, deliver, format, ...rest } = query;
    const common = { principal, idempotency, isDryRun: dryRun === 'true' };
    if (lines !== null) {
      const settings = { ...rest, ...(deliver === undefined ? {} : { deliver: parseReceiver(deliver) }) };
      const isGzip = headers['content-encoding']?.trim().toLowerCase() === 'gzip';
      return answerLines(context, { ...common, settings }, { body: lines, isGzip, format, query });
    }
    refuseQuery(rest);
    const { items = [], ...settings } = body;
    return answerList(context, { ...common, settings }, items);
  },
});

/** The settings of a JSON body are in the body. */
function refuseQuery(rest: object): void {
  const [name] = Object.keys(rest);
  if (name === undefined) return;
  const message = 'send it in the JSON body; the query has settings only for an upload of lines';
  throw fieldProblem(name, message, 'invalid_query');
}

const getBatches = defineList({
  operationId: 'listBatches',
  belongs: 'list',
  path: '/v1/batches',
  summary: 'Batches, newest first',
  filter: schemas.batchFilter,
  shows: { description: 'A page of batches', item: schemas.batch },
  list: ({ query, principal: { scope } }, page, { context }) => batches.list(context.views, { ...query, scope }, page),
});

const getBatch = defineRead({
  operationId: 'getBatch',
  belongs: item('batch'),
  path: '/v1/batches/{id}',
  summary: 'One batch with its progress',
  shows: { description: 'The batch', schema: schemas.batch },
  read: ({ params }, { context }) => findBatch(context, params.id),
});

const changeBatch = defineRoute({
  operationId: 'updateBatch',
  belongs: item('batch'),
  method: 'PATCH',
  path: '/v1/batches/{id}',
  summary: 'Change settings of a batch that has not ended',
  body: schemas.batchPatch,
  answers: shown,
  async handle({ params, body }, { context }) {
    const { maxCostUsd, ...rest } = body;
    const cost = maxCostUsd === undefined ? {} : { maxCostMicros: maxCostUsd === null ? null : toMicros(maxCostUsd) };
    const { database, publish } = context.service;
    refuse(publish(await patchBatch(database, params.id, { ...rest, ...cost })), params.id, 'be changed');
    return { status: 200, body: await findBatch(context, params.id) };
  },
});

const removeBatch = defineRoute({
  operationId: 'deleteBatch',
  belongs: item('batch'),
  method: 'DELETE',
  path: '/v1/batches/{id}',
  summary: 'Delete an ended batch with its items; the sessions of its items stay',
  answers: { 200: { description: 'Deleted', schema: deleted }, 409: conflictDoc },
  async handle({ params }, { context }) {
    refuse(await deleteBatch(context.service.database, params.id), params.id, 'be deleted');
    return { status: 200, body: { deleted: true } };
  },
});

const getItems = defineList({
  operationId: 'listBatchItems',
  belongs: item('batch'),
  path: '/v1/batches/{id}/items',
  summary: 'The items of a batch, in input order',
  filter: schemas.itemFilter,
  shows: { description: 'A page of items', item: schemas.batchItemView },
  pages: { isKey: isItemNumber },
  async list({ params, query }, page, { context }) {
    await findBatch(context, params.id);
    return batchItems.list(context.views, { ...query, batchId: params.id }, page);
  },
});

const getResults = defineRoute({
  operationId: 'getBatchResults',
  belongs: item('batch'),
  method: 'GET',
  path: '/v1/batches/{id}/results',
  summary: 'The results of a batch as lines, in input order, also while it runs',
  isLong: true,
  query: schemas.resultsQuery,
  answers: {
    200: {
      description: 'A line per item: a `BatchResult`, or with `format=openai` a line of its batch files',
      contentType: 'application/x-ndjson',
    },
  },
  async handle({ params, query }, { context }) {
    await findBatch(context, params.id);
    const { after = 0, all, format = 'holdfast' } = query;
    const body = resultLines(context.views, {
      batchId: params.id,
      after,
      all: all === 'true',
      format,
    });
    return { status: 200, body, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' } };
  },
});

type Keyed<Body> = Pick<ApiRequest<{ id: string }, unknown, Body>, 'params' | 'idempotency' | 'body'>;

function commandRoute<Body extends z.ZodType = NoFields>(spec: {
  operationId: string;
  verb: BatchCommand['kind'];
  summary: string;
  body?: Body;
  done: string;
  command: (body: z.output<Body>) => BatchCommand;
}): Route {
  const path = `/v1/batches/{id}/${spec.verb}` as '/v1/batches/{id}/pause';
  return defineEffect<typeof path, { batchId: string }, NoFields, Body>({
    operationId: spec.operationId,
    belongs: item('batch'),
    path,
    summary: spec.summary,
    ...(spec.body === undefined ? {} : { body: spec.body }),
    answers: shown,
    async perform({ params: { id }, idempotency, body }: Keyed<z.output<Body>>, { context }) {
      const request = { batchId: id, command: spec.command(body), idempotency };
      refuse(await controlBatch(context.service.database, request), id, spec.done);
      return { batchId: id };
    },
    show: ({ batchId }, _request, { context }) => findBatch(context, batchId),
  });
}

const pauseBatch = commandRoute({
  operationId: 'pauseBatch',
  verb: 'pause',
  summary: 'Pause a batch: items in flight finish, and no other item starts',
  done: 'be paused',
  command: () => ({ kind: 'pause' }),
});

const resumeBatch = commandRoute({
  operationId: 'resumeBatch',
  verb: 'resume',
  summary: 'Resume a paused batch; its cost and failure guards start again',
  done: 'be resumed',
  command: () => ({ kind: 'resume' }),
});

const cancelBatch = commandRoute({
  operationId: 'cancelBatch',
  verb: 'cancel',
  summary:
    'Cancel a batch: items that have not started are cancelled; with running "stop", its running turns are aborted',
  body: schemas.cancelRequest,
  done: 'be cancelled',
  command: ({ running }) => ({ kind: 'cancel', stopsRunning: running === 'stop' }),
});

const retryFailed = commandRoute({
  operationId: 'retryFailedItems',
  verb: 'retry-failed',
  summary: 'Retry failed and expired items: all, those with one error code, or a list',
  body: schemas.retryRequest,
  done: 'retry its items',
  command: ({ code, n }) => ({ kind: 'retry-failed', code: code ?? null, ns: n ?? null }),
});

function refuse(result: BatchControl, id: string, done: string): void {
  if (result.kind === 'done') return;
  if (result.kind === 'unknown') throw notFound(`batch ${id}`);
  if (result.isOverCap && result.status === 'paused') {
    throw conflict('The batch has reached its cost limit. Raise maxCostUsd, then resume the batch.');
  }
  throw conflict(`The batch is ${result.status}, so it cannot ${done}.`);
}

async function findBatch({ views }: ApiContext, id: string): Promise<schemas.BatchView> {
  return requireFound(await batches.find(views, id), `batch ${id}`);
}

export const routes: Route[] = [
  postBatch,
  getBatches,
  getBatch,
  changeBatch,
  removeBatch,
  getItems,
  getResults,
  pauseBatch,
  resumeBatch,
  cancelBatch,
  retryFailed,
];
