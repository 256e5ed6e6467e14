// Heartbeats: the polls of agents, and a poll right now.
import { z } from 'zod';
import { pollAgent } from '../../service/poll-agent.ts';
import { listHeartbeats, viewHeartbeat } from '../../store/views/heartbeats.ts';
import { listAnswer, pageRequestOf } from '../cursor.ts';

import { requireFound } from '../problem.ts';
import { defineEffect, defineRoute, type Route } from '../route.ts';
import { listOf } from '../../contract/answers.ts';
import { heartbeat } from '../../contract/crons.ts';
import { pageQuery } from '../../contract/queries.ts';

const getHeartbeats = defineRoute({
  operationId: 'listHeartbeats',
  method: 'GET',
  path: '/v1/heartbeats',
  summary: 'Polls, newest first: made or skipped, with their results',
  query: z.strictObject({
    ...pageQuery,
    agent: z.string().max(100).optional().describe('Only polls of this agent'),
    status: z.enum(heartbeat.shape.status.options).optional().describe('Only polls in this state'),
  }),
  answers: { 200: { description: 'A page of polls', schema: listOf(heartbeat) } },
  async handle(request, { context }) {
    const { query } = request;
    const filter = { agentId: query.agent, status: query.status };
    const page = await listHeartbeats(context.views, filter, pageRequestOf(request, context));
    return listAnswer(request, page);
  },
});

const postHeartbeat = defineEffect({
  operationId: 'pollAgent',
  path: '/v1/agents/{agent}/heartbeat',
  summary: 'Poll an agent now, even outside its hours and if nothing has changed',
  answers: { 202: { description: 'The poll', schema: heartbeat } },
  async perform({ params, idempotency }, { context }) {
    return { id: await pollAgent(context.service, params.agent, idempotency) };
  },
  async answer({ id }, _request, { context }) {
    return { status: 202, body: requireFound(await viewHeartbeat(context.views, id), `heartbeat ${id}`) };
  },
});

export const heartbeatRoutes: Route[] = [getHeartbeats, postHeartbeat];
