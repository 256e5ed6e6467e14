// Turns: their steps, their model requests, and the route to stop them.
import { TURN_STATUSES, TURN_KINDS } from '../../core/statuses.ts';
import { z } from 'zod';
import { timeText } from '../../config/schema-scalars.ts';
import { LANES } from '../../config.ts';
import { toMicros } from '../../core/prices.ts';
import { stopTurn } from '../../kernel/use-cases/operate-service.ts';
import { COUNT_MAX, countTurns, type TurnFilter } from '../../kernel/views/turn-filter.ts';
import { listTurns, viewTurn, viewToolCall } from '../../kernel/views/turns.ts';
import { viewTurnInputs } from '../../kernel/views/turn-inputs.ts';
import { parseSessionKey } from '../parse-json.ts';
import { requireFound, notFound } from '../problem.ts';
import { defineEffect, defineList, defineRead, type Route } from '../route.ts';
import { cappedCount, turnAborted } from '../../contract/answers.ts';
import { toolCallDetail, turnInputs } from '../../contract/details.ts';
import { modelRequest } from '../../contract/model-requests.ts';
import {
  countText,
  dollarsText,
  listText,
  nameText,
  searchText,
  sessionKeyText,
  tagText,
} from '../../contract/queries.ts';
import { scoreText } from '../../contract/scores.ts';
import { TOKEN_VIEWS } from '../../contract/token-views.ts';
import { listedTurn, turn } from '../../contract/views.ts';
import { item } from '../belongs.ts';

/** What chooses turns, in a list and in a count. */
const turnQuery = {
  session: sessionKeyText.optional().describe('Only turns of this session'),
  status: listText(TURN_STATUSES).optional().describe('Only turns in one of these states'),
  kind: z.enum(TURN_KINDS).optional().describe('Only turns of this kind'),
  except: listText(TURN_KINDS).optional().describe('Leaves out turns of these kinds'),
  lane: z.enum(LANES).optional().describe('Only turns of this lane'),
  since: timeText.optional().describe('Only turns that started at this time or later'),
  until: timeText.optional().describe('Only turns that started before this time'),
  agent: nameText.optional().describe('Only turns of this agent'),
  model: nameText.optional().describe('Only turns of this model, with or without the name of the provider'),
  tool: nameText.optional().describe('Only turns that called this tool'),
  callStatus: z
    .enum(['unknown'])
    .optional()
    .describe(
      'Only turns with a tool call, of `tool` if that is set, of which it is not known whether it has taken effect',
    ),
  code: nameText.optional().describe('Only turns that ended with this error code'),
  worker: nameText.optional().describe('Only turns that ran on this worker last'),
  batch: z.uuid().optional().describe('Only turns of the items of this batch'),
  minMs: countText.optional().describe('Only turns that took at least this long, in milliseconds'),
  minCostUsd: dollarsText.optional().describe('Only turns that cost at least this much, in US dollars'),
  score: scoreText
    .optional()
    .describe('Only turns with this score, as `name:value`; among the newest 50,000 turns with it'),
  tag: tagText.optional().describe('Only turns with this tag, as `key:value`'),
  q: searchText.optional(),
};

const getTurns = defineList({
  operationId: 'listTurns',
  belongs: 'list',
  path: '/v1/turns',
  summary: 'Turns, newest first, each with its last steps; with steps=none, without steps and spans',
  filter: {
    ...turnQuery,
    steps: z.enum(['none']).optional().describe('`none`: leave out steps and spans, the largest part of the answer'),
    textChars: countText.optional().describe('The maximum length of `reply`; `GET /v1/turns/{id}` has all of it'),
  },
  shows: { description: 'A page of turns', item: listedTurn },
  list: ({ query, principal: { scope } }, page, { context }) =>
    listTurns(
      context.views,
      {
        ...toTurnFilter(query),
        scope,
        hasSteps: query.steps !== 'none',
        textCharsMax: query.textChars,
        leaseMs: context.config.runtime.leaseMs,
      },
      page,
    ),
});

const getCount = defineRead({
  operationId: 'countTurns',
  belongs: 'list',
  path: '/v1/turns/count',
  summary: `The number of turns, up to ${COUNT_MAX}`,
  query: z.strictObject(turnQuery),
  shows: { description: 'The number; isCapped: there may be more', schema: cappedCount },
  read: ({ query, principal: { scope } }, { context }) => countTurns(context.views, { ...toTurnFilter(query), scope }),
});

/** The filter of a query, or of the body of a bulk action. */
export function toTurnFilter(query: Partial<z.output<z.ZodObject<typeof turnQuery>>>): TurnFilter {
  const { session, status, since, until, agent, batch, minMs, minCostUsd, q } = query;
  return {
    kind: query.kind,
    exceptKinds: query.except,
    lane: query.lane,
    model: query.model,
    tool: query.tool,
    callStatus: query.callStatus,
    code: query.code,
    worker: query.worker,
    sessionKey: session === undefined ? undefined : parseSessionKey(session, 'session'),
    statuses: status,
    since: since === undefined ? undefined : new Date(since),
    until: until === undefined ? undefined : new Date(until),
    agentId: agent,
    batchId: batch,
    msMin: minMs,
    costMicrosMin: minCostUsd === undefined ? undefined : toMicros(minCostUsd),
    tags: query.tag,
    score: query.score,
    text: q,
  };
}

const getTurn = defineRead({
  operationId: 'getTurn',
  token: { may: 'read', session: 'turn', shows: TOKEN_VIEWS.turn },
  belongs: item('turn'),
  path: '/v1/turns/{id}',
  summary: 'One turn with all its steps',
  shows: { description: 'The turn', schema: turn },
  read: async ({ params }, { context }) =>
    requireFound(await viewTurn(context.views, params.id, context.config.runtime.leaseMs), `turn ${params.id}`),
});

const getInputs = defineRead({
  operationId: 'getTurnInputs',
  belongs: item('turn'),
  path: '/v1/turns/{id}/inputs',
  summary: 'What a turn answers: its messages, each with its cause, and the system events in its prompt',
  shows: { description: 'The messages and system events', schema: turnInputs },
  read: async ({ params }, { context }) =>
    requireFound(await viewTurnInputs(context.views, params.id), `turn ${params.id}`),
});

const getRequest = defineRead({
  operationId: 'getModelRequest',
  belongs: item('turn'),
  path: '/v1/turns/{id}/requests/{n}',
  summary: 'The exact model request of one call of a turn',
  shows: { description: 'The request, with the origin and trust of its parts', schema: modelRequest },
  read: async ({ params }, { context }) =>
    requireFound(await context.deriveRequest(params.id, params.n), `call ${params.n} of turn ${params.id}`),
});

const getToolCall = defineRead({
  operationId: 'getToolCall',
  belongs: item('turn'),
  path: '/v1/turns/{id}/tools/{callId}',
  summary: 'One tool call with its arguments and its result',
  shows: { description: 'The call', schema: toolCallDetail },
  read: async ({ params: { id, callId } }, { context }) =>
    requireFound(await viewToolCall(context.views, id, callId), `call ${callId} of a tool in turn ${id}`),
});

const abort = defineEffect({
  operationId: 'abortTurn',
  belongs: item('turn'),
  path: '/v1/turns/{id}/abort',
  summary: 'Abort a turn; the waiting messages of its session stay',
  answers: { 200: { description: 'Whether it was running', schema: turnAborted } },
  async perform({ params, idempotency }, { context }) {
    const outcome = await stopTurn(context.service, params.id, idempotency);
    if (outcome === 'unknown') throw notFound(`turn ${params.id}`);
    return { aborted: outcome === 'stopped' };
  },
  show: async ({ aborted }) => ({ aborted }),
});

export const turnRoutes: Route[] = [getTurns, getCount, getTurn, getInputs, getRequest, getToolCall, abort];
