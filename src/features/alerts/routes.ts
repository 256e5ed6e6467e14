// Alert destinations: webhooks for what needs attention.
import type { z } from 'zod';
import { deleted } from '../../contract/answers.ts';
import * as schemas from './contract.ts';
import type { ApiContext } from '../../api/context.ts';
import { resolveChat, type ChatDelivery } from '../../config/schema-channels.ts';
import { formatChannelUrl, parseReceiver } from '../../core/channel-address.ts';
import { isChat } from './chats.ts';
import { conflict, fieldProblem, notFound, type Problem } from '../../api/problem.ts';
import { defineEffect, defineRead, defineRoute, type Route } from '../../api/route.ts';
import {
  addDestination,
  DESTINATIONS_MAX,
  editDestination,
  removeDestination,
  sendTest,
  startTest,
} from './destinations.ts';
import { viewDestinations } from './views.ts';

const NAME_TAKEN = { description: 'There is a destination with this name, or there are too many' };

const getDestinations = defineRead({
  operationId: 'listAlertDestinations',
  belongs: 'service',
  path: '/v1/alert-destinations',
  summary: 'The destinations of alerts, with how the last attempt of each ended',
  shows: { description: 'All destinations', schema: schemas.alertDestinations },
  read: async (_request, { context }) => ({ items: await viewDestinations(context.reads), nextCursor: null }),
});

const postDestination = defineEffect<
  '/v1/alert-destinations',
  { id: string; secret?: string },
  z.ZodType,
  typeof schemas.alertDestinationRequest
>({
  operationId: 'createAlertDestination',
  belongs: 'service',
  path: '/v1/alert-destinations',
  summary: 'Create a destination of alerts. Only this answer contains the secret that signs them',
  role: 'admin',
  body: schemas.alertDestinationRequest,
  answers: { 201: { description: 'The destination', schema: schemas.newAlertDestination }, 409: NAME_TAKEN },
  async perform({ body, principal, idempotency }, { context }) {
    const url = toUrl(context, body.url);
    const made = await addDestination(context.service, { ...body, url }, { createdBy: principal.name, idempotency });
    if (made === 'name_taken') throw nameTaken(body.name);
    if (made === 'full')
      throw conflict(
        `There are ${DESTINATIONS_MAX} alert destinations, which is the most. Delete one, then try again.`,
      );
    return isChat(url) ? { id: made.id } : made;
  },
  async answer({ id, secret }, _request, { context }) {
    const found = await findDestination(context, id);
    return { status: 201, body: { ...found, secret: null }, ...(secret === undefined ? {} : { once: { secret } }) };
  },
});

const patchDestination = defineRoute({
  operationId: 'updateAlertDestination',
  belongs: 'service',
  method: 'PATCH',
  path: '/v1/alert-destinations/{id}',
  summary: 'Change a destination of alerts; a call that waits for its next attempt goes to a new URL at once',
  role: 'admin',
  body: schemas.alertDestinationPatch,
  answers: { 200: { description: 'The updated destination', schema: schemas.alertDestination }, 409: NAME_TAKEN },
  async handle({ params: { id }, body }, { context }) {
    const { url: sent, ...others } = body;
    const change = { ...others, ...(sent === undefined ? {} : { url: toUrl(context, sent) }) };
    if (change.url !== undefined && isChat(change.url) !== isChat((await findDestination(context, id)).url))
      throw fieldProblem('url', 'a webhook cannot become a chat, nor a chat a webhook: create another destination');
    if (Object.keys(change).length > 0 && (await editDestination(context.service, id, change)) === 'name_taken')
      throw nameTaken(body.name ?? '');
    return { status: 200, body: await findDestination(context, id) };
  },
});

const deleteDestination = defineRoute({
  operationId: 'deleteAlertDestination',
  belongs: 'service',
  method: 'DELETE',
  path: '/v1/alert-destinations/{id}',
  summary: 'Delete a destination of alerts, with what waits to be sent there',
  role: 'admin',
  answers: { 200: { description: 'Deleted', schema: deleted } },
  async handle({ params: { id } }, { context }) {
    if (!(await removeDestination(context.service, id))) throw unknown(id);
    return { status: 200, body: { deleted: true } };
  },
});

const postTest = defineEffect({
  operationId: 'testAlertDestination',
  belongs: 'service',
  path: '/v1/alert-destinations/{id}/test',
  summary: 'Send a test alert to a destination at once, and answer with how that ended',
  role: 'admin',
  answers: { 200: { description: 'How it ended', schema: schemas.alertTest } },
  async perform({ params: { id }, idempotency }, { context }) {
    const begun = await startTest(context.service, id, idempotency);
    if (begun === null) throw unknown(id);
    return begun;
  },
  async show({ callId }, { params: { id } }, { context }) {
    const ended = await sendTest(context.service, id, callId);
    if (ended === null) throw unknown(id);
    return { isAcknowledged: ended.error === null, ...ended };
  },
});

/** The address that is stored. Throws the problem of a chat that is not configured. */
function toUrl({ config }: ApiContext, sent: string | ChatDelivery): string {
  const named = typeof sent === 'string' ? parseReceiver(sent) : sent;
  if ('url' in named) return named.url;
  const chat = resolveChat(config, named);
  if ('fault' in chat) throw fieldProblem(`url.${chat.fault.field}`, chat.fault.message);
  return formatChannelUrl(chat.address);
}

function nameTaken(name: string): Problem {
  return conflict(
    `There is an alert destination with the name ${name}. Choose another name, or delete that one first.`,
  );
}

function unknown(id: string): Problem {
  return notFound(`alert destination ${id}. GET /v1/alert-destinations lists them`);
}

async function findDestination(context: ApiContext, id: string): Promise<schemas.AlertDestinationView> {
  const [found] = await viewDestinations(context.views, id);
  if (found === undefined) throw unknown(id);
  return found;
}

export const routes: Route[] = [getDestinations, postDestination, patchDestination, deleteDestination, postTest];
