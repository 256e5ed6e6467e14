// The `agents_list` tool: which agents a subagent may be of.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { SessionsPort } from './sessions-port.ts';
import type { Tool } from './tool.ts';

export function createAgentsListTool(port: Pick<SessionsPort, 'agents'>): Tool {
  return defineTool({
    name: 'agents_list',
    description: 'List the agents that sessions_spawn accepts as agentId; the first is your own.',
    summary: 'List the agents that you may spawn',
    input: z.strictObject({}),
    isIdempotent: true,
    isReadOnly: true,
    async run(_input, call) {
      return { content: JSON.stringify({ requester: call.agentId, agents: port.agents(call) }), isError: false };
    },
  });
}
