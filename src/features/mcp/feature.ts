// MCP servers: their tools as tools of agents. What tools there are is stored, so that a turn opens
// without asking a server; a worker connects to one when it is first called.
import type { Feature } from '../../kernel/features.ts';

export const mcp: Feature = {
  name: 'mcp',
  inRoles: [{ roles: ['worker'], load: async () => (await import('./rounds.ts')).openMcp }],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { mcp: ['Look', 'MCP servers and their tools'] }]],
  turns: async () => (await import('./turns.ts')).mcpInTurns,
};
