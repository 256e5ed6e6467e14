// The outbox: sent, pending and failed deliveries, and an operator's actions on them.
import { DELIVERY_STATUSES } from '../../core/statuses.ts';
import { z } from 'zod';
import { decideDelivery } from '../../service/redrive-letters.ts';
import type { DeliveryDecision } from '../../store/decide-delivery.ts';
import { countDeliveries, listDeliveries, viewDelivery, viewDeliveryDetails } from '../../store/views/deliveries.ts';
import type { Answer } from '../answer.ts';
import type { ApiContext } from '../context.ts';
import { parseSessionKey } from '../path-parameters.ts';
import { conflict, requireFound } from '../problem.ts';
import { defineEffect, defineRoute, defineList, defineRead, type Route } from '../route.ts';
import { listOf } from '../../contract/answers.ts';
import { listText, nameText, searchText, sessionKeyText } from '../../contract/queries.ts';
import { delivery, deliveryCount, deliveryDetails, discardRequest } from '../../contract/deliveries.ts';

const conflictDoc = { description: 'Its status does not allow it' };

const getDeliveries = defineList({
  operationId: 'listDeliveries',
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
  list: ({ query }, page, { context }) =>
    listDeliveries(
      context.views,
      {
        sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
        turnId: query.turn,
        statuses: query.status,
        channel: query.channel,
        text: query.q,
      },
      page,
    ),
});

const getCounts = defineRoute({
  operationId: 'countDeliveries',
  method: 'GET',
  path: '/v1/deliveries/count',
  summary: 'The number of deliveries by status, and the age of the oldest one',
  answers: { 200: { description: 'One row for each status', schema: listOf(deliveryCount) } },
  handle: async (_request, { context }) => ({
    status: 200,
    body: { items: await countDeliveries(context.views), nextCursor: null },
  }),
});

const getDelivery = defineRead({
  operationId: 'getDelivery',
  path: '/v1/deliveries/{id}',
  summary: 'One delivery with its attempts',
  shows: { description: 'The delivery', schema: deliveryDetails },
  read: async ({ params }, { context }) =>
    requireFound(await viewDeliveryDetails(context.views, params.id), `delivery ${params.id}`),
});

const redrive = defineEffect({
  operationId: 'redriveDelivery',
  path: '/v1/deliveries/{id}/redrive',
  summary: 'Resend a delivery that failed, expired, was discarded or has an unknown result',
  answers: { 200: { description: 'The updated delivery', schema: delivery }, 409: conflictDoc },
  perform: async ({ params, idempotency }, { context }) =>
    decided(context, params.id, await decideDelivery(context.service, params.id, { decision: 'redrive', idempotency })),
  answer: (_decided, { params }, { context }) => answerNow(context, params.id),
});

const discard = defineEffect({
  operationId: 'discardDelivery',
  path: '/v1/deliveries/{id}/discard',
  summary: 'Discard a delivery',
  body: discardRequest,
  answers: { 200: { description: 'The updated delivery', schema: delivery }, 409: conflictDoc },
  perform: async ({ params, idempotency }, { context }) =>
    decided(context, params.id, await decideDelivery(context.service, params.id, { decision: 'discard', idempotency })),
  answer: (_decided, { params }, { context }) => answerNow(context, params.id),
});

/** The result of a decision that was carried out; throws the `Problem` of one that was refused. */
async function decided(context: ApiContext, id: string, result: DeliveryDecision): Promise<object> {
  if (result === 'done') return {};
  const found = requireFound(result === 'unknown' ? null : await viewDelivery(context.views, id), `delivery ${id}`);
  throw conflict(`The delivery is ${found.status}; this status does not allow the request.`);
}

async function answerNow(context: ApiContext, id: string): Promise<Answer> {
  return { status: 200, body: requireFound(await viewDelivery(context.views, id), `delivery ${id}`) };
}

export const deliveryRoutes: Route[] = [getDeliveries, getCounts, getDelivery, redrive, discard];
