// Messages in, what became of them, and why they wait.
import { MESSAGE_STATUSES } from '../../core/statuses.ts';
import { parseKeyName } from '../../core/key-role.ts';
import { acceptMessage } from '../../kernel/use-cases/accept-message.ts';
import { listMessages, viewMessage } from '../../kernel/views/messages.ts';
import { answerWithin, requireFound } from '../problem.ts';
import { parseSessionKey } from '../parse-json.ts';
import { answerStored, toTakenMessage } from '../answer-stored.ts';
import { defineList, defineRead, defineRoute, type Route } from '../route.ts';
import { accepted, settled } from '../../contract/answers.ts';
import { inboundMessage } from '../../contract/inbound-message.ts';
import { idsText, listText, sessionKeyText, tagText, countText, pageQuery } from '../../contract/queries.ts';
import { TOKEN_VIEWS } from '../../contract/token-views.ts';
import { message } from '../../contract/views.ts';
import { z } from 'zod';
import { LANES } from '../../core/session-key.ts';
import { listWaiting } from '../../kernel/views/waiting.ts';
import { listAnswer, parsePageRequest } from '../cursor.ts';
import { waitReason, waitingList } from '../../contract/waiting.ts';
import { item } from '../belongs.ts';

/**
 * Longer than the store tries again by itself, so that its own error comes first and says what is
 * known.
 */
const ACCEPT_MS_MAX = 15_000;

const postMessage = defineRoute({
  operationId: 'sendMessage',
  belongs: 'session',
  method: 'POST',
  path: '/v1/sessions/{key}/messages',
  token: { may: 'send', session: 'path', shows: TOKEN_VIEWS.sent },
  isAudited: false,
  summary: 'Accept an inbound message; with Prefer: wait, answer when it is settled',
  isLong: true,
  body: inboundMessage,
  headers: { Prefer: 'wait=<seconds>' },
  answers: {
    200: { description: 'Settled within the wait', schema: settled },
    202: { description: 'Committed', schema: accepted },
    429: { description: 'The inbox is full, or a limit of the key is reached; nothing was stored' },
  },
  async handle(request, { context, services }) {
    const { key } = request.params;
    const { traceparent } = request.headers;
    const { principal } = request;
    const message = {
      sessionKey: key,
      body: request.body,
      idempotency: request.idempotency,
      sentBy: parseKeyName(principal.name),
      traceparent: traceparent === undefined ? undefined : String(traceparent),
    };
    const result = toTakenMessage(
      await answerWithin(
        services.limits.send(principal, () => acceptMessage(context.service, message)),
        ACCEPT_MS_MAX,
        'The request timed out, and the message may have been accepted. Send it again with the same Idempotency-Key.',
      ),
    );
    const { message: taken, session, disposition, sessionId } = result;
    const isReplay = result.kind === 'duplicate' && result.by === 'idempotency';
    return answerStored(
      { request, context, services },
      { id: taken.id, sessionId, isReplay },
      {
        ended: async ({ message: ended, turn }) => ({
          message: ended,
          turn,
          reply: ended.reply,
          output: turn?.output ?? null,
        }),
        now: async () => ({ message: taken, session, disposition }),
      },
    );
  },
});

const getMessages = defineList({
  operationId: 'listMessages',
  belongs: 'list',
  token: { may: 'read', session: 'query', shows: TOKEN_VIEWS.messages },
  path: '/v1/messages',
  summary: 'Messages, newest first; optionally with some statuses, some ids, or of one session',
  filter: {
    status: listText(MESSAGE_STATUSES).optional().describe('Only messages in one of these states'),
    ids: idsText.optional().describe('Only messages with these ids'),
    session: sessionKeyText.optional().describe('Only messages of this session'),
    tag: tagText.optional().describe('Only messages with this tag, as `key:value`'),
  },
  shows: { description: 'A page of messages', item: message },
  async list({ query, principal: { scope } }, page, { context }) {
    const filter = {
      scope,
      statuses: query.status,
      ids: query.ids,
      sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
      tags: query.tag,
    };
    return listMessages(context.views, filter, page);
  },
});

const getMessage = defineRead({
  operationId: 'getMessage',
  token: { may: 'read', session: 'message', shows: TOKEN_VIEWS.message },
  belongs: item('message'),
  path: '/v1/messages/{id}',
  summary: 'One message and its outcome',
  shows: { description: 'The message', schema: message },
  read: async ({ params }, { context }) =>
    requireFound(await viewMessage(context.views, params.id), `message ${params.id}`),
});

const getWaiting = defineRoute({
  operationId: 'listWaiting',
  belongs: 'list',
  method: 'GET',
  path: '/v1/waiting',
  summary: 'All waiting messages, oldest first, with the reason why they wait',
  query: z.strictObject({
    ...pageQuery,
    lane: z.enum(LANES).optional().describe('Only messages of sessions in this lane'),
    session: sessionKeyText.optional().describe('Only messages of this session'),
    batch: z.uuid().optional().describe('Only messages of this batch'),
    reason: waitReason.optional().describe('Only messages that wait for this reason, by the `code` of `why`'),
    textChars: countText.optional().describe('The maximum length of `text`; `GET /v1/messages/{id}` has all of it'),
  }),
  answers: { 200: { description: 'A page of waiting messages, and how many there are', schema: waitingList } },
  async handle(request, { context }) {
    const { query, principal } = request;
    const filter = {
      scope: principal.scope,
      lane: query.lane,
      sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
      batchId: query.batch?.toLowerCase(),
      reason: query.reason,
      textCharsMax: query.textChars,
    };
    const page = await listWaiting(context.views, filter, parsePageRequest(request, context));
    return listAnswer(request, page);
  },
});

export const messageRoutes: Route[] = [postMessage, getMessages, getMessage];
export const waitingRoutes: Route[] = [getWaiting];
