// Heartbeats: the polls of agents, and a poll right now.
import { z } from 'zod';
import { pollAgent } from '../../service/poll-agent.ts';
import { listHeartbeats, viewHeartbeat } from '../../store/views/heartbeats.ts';

import { requireFound } from '../problem.ts';
import { defineEffect, defineList, type Route } from '../route.ts';
import { heartbeat } from '../../contract/crons.ts';

const getHeartbeats = defineList({
  operationId: 'listHeartbeats',
  path: '/v1/heartbeats',
  summary: 'Polls, newest first: made or skipped, with their results',
  filter: {
    agent: z.string().max(100).optional().describe('Only polls of this agent'),
    status: z.enum(heartbeat.shape.status.options).optional().describe('Only polls in this state'),
  },
  shows: { description: 'A page of polls', item: heartbeat },
  async list({ query }, page, { context }) {
    const filter = { agentId: query.agent, status: query.status };
    return listHeartbeats(context.views, filter, page);
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
