// Routes of sessions: their facts and overrides, and the abort.
import { z } from 'zod';
import {
  isUpdatedKey,
  listSessions,
  listUpdatedSessions,
  viewLockedSession,
  type LockedSession,
} from '../../kernel/views/sessions.ts';
import { listAnswer, parsePageRequest } from '../cursor.ts';
import { agentOrFirst, type Config } from '../../config.ts';
import { queuePolicyOf, overrideSession } from '../../kernel/use-cases/accept-message.ts';
import { stopSession } from '../../kernel/use-cases/operate-service.ts';
import { requireFound, modelProblem, notFound } from '../problem.ts';
import { defineEffect, defineRoute, defineRead, type Route } from '../route.ts';
import { abortion, abortRequest, describeList, sessionPatch } from '../../contract/answers.ts';
import { listText, nameText, pageQuery, searchText, tagText } from '../../contract/queries.ts';
import { TOKEN_VIEWS } from '../../contract/token-views.ts';
import { sessionDetails, type SessionDetails } from '../../contract/views.ts';
import { isUuid } from '../../core/ids.ts';
import { SESSION_KINDS } from '../../core/session-key.ts';

const getSessions = defineRoute({
  operationId: 'listSessions',
  belongs: 'list',
  method: 'GET',
  path: '/v1/sessions',
  summary: 'Sessions, newest first; order=updated: last changed first',
  query: z.strictObject({
    ...pageQuery,
    agent: nameText.optional().describe('Only sessions of this agent'),
    kind: listText(SESSION_KINDS)
      .optional()
      .describe('Only sessions of these kinds; absent: of all except `batch` and `try`'),
    status: listText(sessionDetails.shape.status.options).optional().describe('Only sessions in one of these states'),
    channel: nameText.optional().describe('Only sessions of this channel'),
    tag: tagText.optional().describe('Only sessions with turns that have this tag, as `key:value`'),
    q: searchText.optional(),
    order: z
      .enum(['created', 'updated'])
      .optional()
      .describe('`updated`: last changed first, among the newest 5,000 and those of the newest 5,000 turns'),
  }),
  answers: { 200: { description: 'A page of sessions', schema: describeList(sessionDetails) } },
  async handle(request, { context }) {
    const { query, principal } = request;
    const { agent, kind, status, channel, tag, q, order } = query;
    const isByUpdate = order === 'updated';
    const isKey = isByUpdate ? isUpdatedKey : isUuid;
    const filter = {
      scope: principal.scope,
      agentId: agent,
      kinds: kind,
      statuses: status,
      channel,
      tags: tag,
      text: q,
    };
    const asked = parsePageRequest(request, context, { isKey });
    const page = await (isByUpdate
      ? listUpdatedSessions(context.views, filter, asked)
      : listSessions(context.views, filter, asked));
    const items = page.items.map((found) => buildDetails(context.config, found));
    return listAnswer(request, { ...page, items });
  },
});

/**
 * With the window that its transcript is kept within, and the mode of a message that names neither
 * a channel nor a mode.
 */
function buildDetails(config: Config, found: LockedSession): SessionDetails {
  return {
    ...found,
    contextWindow: agentOrFirst(config, found.agentId).contextTokens,
    apiQueueMode: found.queueMode ?? queuePolicyOf(config, { text: '' }).mode,
  };
}

const getSession = defineRead({
  operationId: 'getSession',
  token: { may: 'read', session: 'path', shows: TOKEN_VIEWS.session },
  belongs: 'session',
  path: '/v1/sessions/{key}',
  summary: 'One session',
  shows: { description: 'The session', schema: sessionDetails },
  async read({ params }, { context }) {
    const found = requireFound(await viewLockedSession(context.views, params.key), `session ${params.key}`);
    return buildDetails(context.config, found);
  },
});

const patchSession = defineRoute({
  operationId: 'updateSession',
  belongs: 'session',
  method: 'PATCH',
  path: '/v1/sessions/{key}',
  summary: 'Override the configuration for one session; null removes an override',
  body: sessionPatch,
  answers: { 200: { description: 'The updated session', schema: sessionDetails } },
  async handle({ params, body }, { context }) {
    const patched = await overrideSession(context.service, params.key, body);
    if (patched.kind === 'refused') throw modelProblem(patched.message);
    const found = patched.kind === 'done' ? await viewLockedSession(context.views, params.key) : null;
    if (found === null) throw notFound(`session ${params.key}`);
    return { status: 200, body: buildDetails(context.config, found) };
  },
});

const abort = defineEffect({
  operationId: 'abortSession',
  belongs: 'session',
  path: '/v1/sessions/{key}/abort',
  summary: 'Abort the running turn and cancel the waiting messages; with queued: keep, the messages stay',
  body: abortRequest,
  answers: { 200: { description: 'The aborted turn and the number of cancelled messages', schema: abortion } },
  async perform({ params, body, idempotency }, { context }) {
    const stop = { sessionKey: params.key, keepQueued: body.queued === 'keep', idempotency };
    const done = requireFound(await stopSession(context.service, stop), `session ${params.key}`);
    return { aborted: done.aborted, cancelled: done.cancelled };
  },
  show: async ({ aborted, cancelled }) => ({ aborted, cancelled }),
});

export const sessionRoutes: Route[] = [getSessions, getSession, patchSession, abort];
