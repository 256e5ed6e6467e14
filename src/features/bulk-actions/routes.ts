// Bulk actions: submitted, shown, cancelled.
import type { BulkActionView } from './contract.ts';
import { z } from 'zod';
import {
  cancelBulkAction,
  BULK_ITEMS_MAX,
  selectBulkIds,
  submitBulkAction,
  type BulkRequest,
  type BulkSelection,
} from './use-cases.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { bulkActions, bulkItems } from './views.ts';
import type { ApiContext } from '../../api/context.ts';
import { isItemNumber } from '../../api/cursor.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { requireFound, notFound, Problem } from '../../api/problem.ts';
import { defineEffect, defineRoute, defineList, type Route } from '../../api/route.ts';
import * as schemas from './contract.ts';
import { toTurnFilter } from '../../api/routes/turns.ts';

const SAMPLE_MAX = 5;

type Submitted = { id: string } | { total: number; ids: string[] };
type RequestBody = z.output<typeof schemas.bulkActionRequest>;

const postBulkAction = defineEffect<'/v1/bulk-actions', Submitted, z.ZodType, typeof schemas.bulkActionRequest>({
  operationId: 'createBulkAction',
  belongs: 'service',
  path: '/v1/bulk-actions',
  summary:
    'Apply an action to many objects: the request selects the objects, and schedulers process them in the background',
  body: schemas.bulkActionRequest,
  answers: {
    200: {
      description: 'With dryRun: the number of objects and the first ids; nothing is changed',
      schema: schemas.bulkDryRun,
    },
    202: { description: 'The action', schema: schemas.bulkAction },
  },
  async perform({ body, principal, idempotency }, { context }) {
    const selection = parseSelection(body);
    if (body.dryRun === true) {
      const ids = await selectBulkIds(context.service, { action: body.action, selection });
      refuseTooMany(ids);
      return { total: ids.length, ids: ids.slice(0, SAMPLE_MAX) };
    }
    const { action, perSecond = null, reason = null, canary = false } = body;
    const filter = body.filter ?? { ids: body.ids?.length ?? 0 };
    const settings = { action, selection, filter, reason, perSecond, isCanary: canary, createdBy: principal.name };
    return { id: await submit(context, settings, idempotency) };
  },
  async answer(submitted, _request, { context }) {
    if ('total' in submitted) return { status: 200, body: submitted };
    return { status: 202, body: await findBulkAction(context, submitted.id) };
  },
});

/** Fixes the ids and stores the action. Throws `Problem` when there are too many. */
export async function submit(
  context: ApiContext,
  request: BulkRequest,
  idempotency: KeyedRequest | null,
): Promise<string> {
  const ids = await selectBulkIds(context.service, request);
  refuseTooMany(ids);
  return submitBulkAction(context.service, request, ids, idempotency);
}

function refuseTooMany(ids: readonly string[]): void {
  if (ids.length <= BULK_ITEMS_MAX) return;
  const message = `expected a filter that finds at most ${BULK_ITEMS_MAX} of them`;
  throw new Problem('invalid_body', `filter: ${message}. Submit it in parts, for example by session.`, {
    errors: [{ path: 'filter', message }],
  });
}

function parseSelection({ target, ids, filter = {} }: RequestBody): BulkSelection {
  if (ids !== undefined) return { target, ids: ids.map((id) => id.toLowerCase()) };
  const { session, kind, code } = filter;
  const statuses = schemas.toStatuses(filter.status);
  const sessionKey = session === undefined ? undefined : parseSessionKey(session, 'filter.session');
  switch (target) {
    case 'turns':
      // The names of states and kinds were checked; those of other targets find no turn.
      return { target, filter: { ...toTurnFilter({ ...filter, status: undefined, kind: undefined }), statuses, kind } };
    case 'messages':
      return { target, filter: { sessionKey } };
    case 'deliveries':
      return { target, filter: { sessionKey, statuses, channel: filter.channel, text: filter.q } };
    case 'dead-letters':
      return { target, filter: { kind, code } };
    default:
      return target satisfies never;
  }
}

/** An action as it is now. Throws `Problem` 404. */
export async function findBulkAction(context: ApiContext, id: string): Promise<BulkActionView> {
  return requireFound(await bulkActions.find(context.views, id), `bulk action ${id}`);
}

const getBulkActions = defineList({
  operationId: 'listBulkActions',
  belongs: 'service',
  path: '/v1/bulk-actions',
  summary: 'Bulk actions, newest first',
  shows: { description: 'A page of actions', item: schemas.bulkAction },
  list: (_request, page, { context }) => bulkActions.list(context.views, {}, page),
});

const getBulkAction = defineRoute({
  operationId: 'getBulkAction',
  belongs: 'service',
  method: 'GET',
  path: '/v1/bulk-actions/{id}',
  summary: 'One bulk action with its progress',
  answers: { 200: { description: 'The action', schema: schemas.bulkAction } },
  handle: async ({ params: { id } }, { context }) => ({ status: 200, body: await findBulkAction(context, id) }),
});

const getBulkItems = defineList({
  operationId: 'listBulkItems',
  belongs: 'service',
  path: '/v1/bulk-actions/{id}/items',
  summary: 'The objects of a bulk action, in the order of execution, each with its result',
  filter: { status: z.enum(schemas.bulkItem.shape.status.options).optional().describe('Only objects in this state') },
  shows: { description: 'A page of items', item: schemas.bulkItem },
  pages: { isKey: isItemNumber },
  async list({ params: { id }, query: { status } }, page, { context }) {
    await findBulkAction(context, id);
    return bulkItems.list(context.views, { actionId: id, status }, page);
  },
});

const cancelAction = defineEffect<'/v1/bulk-actions/{id}/cancel', { id: string }>({
  operationId: 'cancelBulkAction',
  belongs: 'service',
  path: '/v1/bulk-actions/{id}/cancel',
  summary: 'Cancel a bulk action: objects in progress finish, and completed changes stay',
  answers: { 200: { description: 'The updated action', schema: schemas.bulkAction } },
  async perform({ params: { id }, idempotency }, { context }) {
    if (!(await cancelBulkAction(context.service.database, id, idempotency))) throw notFound(`bulk action ${id}`);
    return { id };
  },
  show: ({ id }, _request, { context }) => findBulkAction(context, id),
});

export const routes: Route[] = [postBulkAction, getBulkActions, getBulkAction, getBulkItems, cancelAction];
