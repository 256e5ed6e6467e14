// The outbox: sent, pending and failed deliveries, and an operator's actions on them.
import { DELIVERY_STATUSES } from '../../core/statuses.ts';
import { z } from 'zod';
import { decideDelivery, whyUndecided, type DeliveryAction } from './decide.ts';
import { countDeliveries, listDeliveries, viewDelivery, viewDeliveryDetails } from './views.ts';
import { parseSessionKey } from '../../api/parse-json.ts';
import { conflict, requireFound } from '../../api/problem.ts';
import { defineEffect, defineList, defineRead, type NoFields, type Route } from '../../api/route.ts';
import { describeList } from '../../contract/answers.ts';
import { listText, nameText, searchText, sessionKeyText } from '../../contract/queries.ts';
import { delivery, deliveryCount, deliveryDetails, discardRequest } from './contract.ts';
import { item } from '../../api/belongs.ts';

const getDeliveries = defineList({
  operationId: 'listDeliveries',
  belongs: 'list',
  path: '/v1/deliveries',
  summary: 'Deliveries, newest first',
  filter: {
    session: sessionKeyText.optional().describe('Only deliveries of this session'),
    turn: z.uuid().optional().describe('Only deliveries of this turn'),
    status: listText(DELIVERY_STATUSES).optional().describe('Only deliveries in one of these states'),
    channel: nameText.optional().describe('Only deliveries to this channel: webhook, or the name of a channel'),
    q: searchText
      .optional()
      .describe(
        'The id of a delivery, a turn or a message or its last 6 to 12 digits, or a part of a session key or of the last error',
      ),
  },
  shows: { description: 'A page of deliveries', item: delivery },
  list: ({ query, principal: { scope } }, page, { context }) =>
    listDeliveries(
      context.views,
      {
        scope,
        sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
        turnId: query.turn,
        statuses: query.status,
        channel: query.channel,
        text: query.q,
      },
      page,
    ),
});

const getCounts = defineRead({
  operationId: 'countDeliveries',
  belongs: 'list',
  path: '/v1/deliveries/count',
  summary: 'The number of deliveries by status, and the age of the oldest one',
  shows: { description: 'One row for each status', schema: describeList(deliveryCount) },
  read: async ({ principal: { scope } }, { context: { views } }) => ({
    items: await countDeliveries(views, scope),
    nextCursor: null,
  }),
});

const getDelivery = defineRead({
  operationId: 'getDelivery',
  belongs: item('delivery'),
  path: '/v1/deliveries/{id}',
  summary: 'One delivery with its attempts',
  shows: { description: 'The delivery', schema: deliveryDetails },
  read: async ({ params }, { context }) =>
    requireFound(await viewDeliveryDetails(context.views, params.id), `delivery ${params.id}`),
});

/** A POST that decides about a delivery. */
function decisionRoute<Body extends z.ZodType = NoFields>(spec: {
  operationId: string;
  decision: DeliveryAction;
  summary: string;
  body?: Body;
}): Route {
  const { decision, ...rest } = spec;
  const path = `/v1/deliveries/{id}/${decision}` as '/v1/deliveries/{id}/redrive';
  return defineEffect<typeof path, object, NoFields, Body>({
    ...rest,
    belongs: item('delivery'),
    path,
    answers: {
      200: { description: 'The updated delivery', schema: delivery },
      409: { description: 'Its status does not allow it' },
    },
    async perform({ params: { id }, idempotency }, { context }) {
      const result = await decideDelivery(context.service, id, { decision, idempotency });
      if (result === 'done') return {};
      const found = requireFound(result === 'unknown' ? null : await viewDelivery(context.views, id), `delivery ${id}`);
      throw conflict(whyUndecided(found));
    },
    show: async (_done, { params: { id } }, { context }) =>
      requireFound(await viewDelivery(context.views, id), `delivery ${id}`),
  });
}

const send = decisionRoute({
  operationId: 'sendDelivery',
  decision: 'send',
  summary:
    'Make a pending delivery due now: the first of its session or chat goes before it, and when that was sent, up to ten others to its host or account at a time',
});

const redrive = decisionRoute({
  operationId: 'redriveDelivery',
  decision: 'redrive',
  summary: 'Resend a delivery that failed, expired, was discarded or has an unknown result',
});

const discard = decisionRoute({
  operationId: 'discardDelivery',
  decision: 'discard',
  summary: 'Discard a delivery',
  body: discardRequest,
});

export const routes: Route[] = [getDeliveries, getCounts, getDelivery, send, redrive, discard];
