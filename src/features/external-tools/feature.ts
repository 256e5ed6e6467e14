// External tools: tools that another program runs. A call waits, with its turn parked, until the
// program has sent the result or its time is over.
import type { Feature } from '../../kernel/features.ts';

export const externalTools: Feature = {
  name: 'external-tools',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openExternalToolRounds }],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { 'tool-calls': ['Look', 'calls of tools that your programs run'] }]],
  turns: async () => (await import('./turns.ts')).externalToolsInTurns,
};
