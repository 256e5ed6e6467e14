// The agents of the configuration, and their heartbeats: the polls, and a poll right now.
import { agentOf, type AgentSettings } from '../../config.ts';
import { countByAgent } from '../../kernel/views/agents.ts';
import { defineEffect, defineList, defineRead, type Route } from '../route.ts';
import { agentList } from '../../contract/agents.ts';
import { z } from 'zod';
import { pollAgent } from '../../features/heartbeats/poll-agent.ts';
import { listHeartbeats, viewHeartbeat } from '../../features/heartbeats/views.ts';
import { requireFound } from '../problem.ts';
import { heartbeat } from '../../contract/crons.ts';

const getAgents = defineRead({
  operationId: 'listAgents',
  path: '/v1/agents',
  summary: 'The agents with a summary of their settings, their crons and their sessions',
  shows: { description: 'All agents', schema: agentList },
  async read(_request, { context: { config, views } }) {
    const counts = await countByAgent(
      views,
      config.agents.list.map(({ id }) => id),
    );
    const items = counts.map(({ id, ...counted }) => {
      const { model, fallbacks, thinking, promptMode, workspaceDir, toolPolicies, heartbeat } = agentOf(config, id);
      return {
        id,
        model,
        fallbacks,
        thinking,
        promptMode,
        workspace: workspaceDir,
        toolPolicies,
        heartbeat: {
          everyMs: heartbeat.every,
          target: heartbeat.target,
          activeHours: heartbeat.activeHours ?? null,
          gate: classifyGate(heartbeat.when),
        },
        ...counted,
      };
    });
    return { items, nextCursor: null };
  },
});

/** The kind of a gate: its command or address can contain a secret. */
function classifyGate(gate: AgentSettings['heartbeat']['when']): 'command' | 'url' | 'file' | null {
  return (['command', 'url', 'file'] as const).find((kind) => gate?.[kind] !== undefined) ?? null;
}

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
  show: async ({ id }, _request, { context }) =>
    requireFound(await viewHeartbeat(context.views, id), `heartbeat ${id}`),
});

export const agentRoutes: Route[] = [getAgents];
export const heartbeatRoutes: Route[] = [getHeartbeats, postHeartbeat];
