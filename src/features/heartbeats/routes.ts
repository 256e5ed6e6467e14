// The polls of agents, and a poll right now.
import { z } from 'zod';
import { requireFound } from '../../api/problem.ts';
import { defineEffect, defineList, type Route } from '../../api/route.ts';
import { heartbeat } from './contract.ts';
import { pollAgent } from './poll-agent.ts';
import { heartbeats } from './views.ts';

const getHeartbeats = defineList({
  operationId: 'listHeartbeats',
  belongs: 'service',
  path: '/v1/heartbeats',
  summary: 'Polls, newest first: made or skipped, with their results',
  filter: {
    agent: z.string().max(100).optional().describe('Only polls of this agent'),
    status: z.enum(heartbeat.shape.status.options).optional().describe('Only polls in this state'),
  },
  shows: { description: 'A page of polls', item: heartbeat },
  list: ({ query: { agent, status } }, page, { context }) =>
    heartbeats.list(context.views, { agentId: agent, status }, page),
});

const postHeartbeat = defineEffect({
  operationId: 'pollAgent',
  belongs: 'agent',
  path: '/v1/agents/{agent}/heartbeat',
  summary: 'Poll an agent now, even outside its hours and if nothing has changed',
  answers: { 202: { description: 'The poll', schema: heartbeat } },
  async perform({ params, idempotency }, { context }) {
    return { id: await pollAgent(context.service, params.agent, idempotency) };
  },
  show: async ({ id }, _request, { context }) =>
    requireFound(await heartbeats.find(context.views, id), `heartbeat ${id}`),
});

export const routes: Route[] = [getHeartbeats, postHeartbeat];
