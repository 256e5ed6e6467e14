// The agents of the configuration.
import { agentOf, type AgentSettings } from '../../config.ts';
import { countByAgent } from '../../kernel/views/agents.ts';
import { defineRead, type Route } from '../route.ts';
import { agentList } from '../../contract/agents.ts';

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

export const agentRoutes: Route[] = [getAgents];
