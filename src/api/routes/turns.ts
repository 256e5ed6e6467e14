// Turns: their steps, their model requests, and the routes to stop or retry them.
import { z } from 'zod';
import { LANES } from '../../config.ts';
import { TURN_KINDS } from '../../core/turn-kind.ts';
import { redoTurn } from '../../service/redrive-letters.ts';
import { stopTurn } from '../../service/stop-session.ts';
import { listTurns, TURN_STATUSES, viewTurn } from '../../store/views/turns.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';
import { parseSessionKey } from '../path-parameters.ts';
import { notFound, Problem } from '../problem.ts';
import { defineEffect, defineRoute, type Route } from '../route.ts';
import { listOf, turnAborted } from '../schemas/answers.ts';
import { modelRequest } from '../schemas/model-requests.ts';
import { listText, pageQuery, sessionKeyText } from '../schemas/queries.ts';
import { turn } from '../schemas/views.ts';
import { isUuid } from '../../core/ids.ts';

const ITEMS_DEFAULT = 50;

const getTurns = defineRoute({
  method: 'GET',
  path: '/v1/turns',
  summary: 'Turns, newest first, each with its last steps',
  query: z.strictObject({
    ...pageQuery,
    session: sessionKeyText.optional(),
    status: listText(TURN_STATUSES).optional(),
    kind: z.enum(TURN_KINDS).optional(),
    lane: z.enum(LANES).optional(),
    since: z.iso.datetime({ offset: true }).optional(),
  }),
  answers: { 200: { description: 'A page of turns', schema: listOf(turn) } },
  async handle({ query, list }, { context }) {
    const bounds = { itemsDefault: ITEMS_DEFAULT, itemsMax: context.config.limits.pageItems, isKey: isUuid };
    const page = await listTurns(
      context.views,
      {
        sessionKey: query.session === undefined ? undefined : parseSessionKey(query.session, 'session'),
        statuses: query.status,
        kind: query.kind,
        lane: query.lane,
        since: query.since === undefined ? undefined : new Date(query.since),
      },
      pageRequestOf(list, query, bounds),
    );
    return { status: 200, body: listAnswer(list, page) };
  },
});

const getTurn = defineRoute({
  method: 'GET',
  path: '/v1/turns/{id}',
  summary: 'One turn with all its steps',
  answers: { 200: { description: 'The turn', schema: turn } },
  async handle({ params }, { context }) {
    const found = await viewTurn(context.views, params.id);
    if (found === null) throw notFound(`turn ${params.id}`);
    return { status: 200, body: found };
  },
});

const getRequest = defineRoute({
  method: 'GET',
  path: '/v1/turns/{id}/requests/{n}',
  summary: 'The exact model request of one call of a turn',
  answers: { 200: { description: 'The request, with the origin and the trust of its parts', schema: modelRequest } },
  async handle({ params }, { context }) {
    const request = await context.deriveRequest(params.id, params.n);
    if (request === null) throw notFound(`call ${params.n} of turn ${params.id}`);
    return { status: 200, body: request };
  },
});

const abort = defineEffect({
  path: '/v1/turns/{id}/abort',
  summary: 'Stop one turn; the waiting messages of its session stay',
  answers: { 200: { description: 'Whether it was running', schema: turnAborted } },
  async perform({ params, idempotency }, { context }) {
    const outcome = await stopTurn(context.service, params.id, idempotency);
    if (outcome === 'unknown') throw notFound(`turn ${params.id}`);
    return { aborted: outcome === 'stopped' };
  },
  answer: async ({ aborted }) => ({ status: 200, body: { aborted } }),
});

const retry = defineEffect({
  path: '/v1/turns/{id}/retry',
  summary: 'Retry a turn that ended badly: its messages wait again',
  answers: {
    202: {
      description:
        'The messages wait again; when the session has newer turns, as new messages whose retryOf names the old ones',
      schema: z.strictObject({ retried: z.uuid(), messageIds: z.array(z.uuid()) }),
    },
    409: { description: 'The turn ended well, still runs, or was retried before' },
  },
  async perform({ params, idempotency }, { context }) {
    const result = await redoTurn(context.service, params.id, idempotency);
    switch (result.kind) {
      case 'ok':
        return { retried: params.id, messageIds: result.messageIds };
      case 'conflict':
        throw new Problem('conflict', 'Only a turn that ended badly can be retried, and only once.');
      case 'unknown':
        throw notFound(`turn ${params.id}`);
      default:
        return result satisfies never;
    }
  },
  answer: async (retried) => ({ status: 202, body: retried }),
});

export const turnRoutes: Route[] = [getTurns, getTurn, getRequest, abort, retry];
