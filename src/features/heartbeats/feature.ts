// Heartbeats: polls of agents at intervals, in their main session. A poll that finds nothing leaves
// no trace in the conversation; an alert is sent once.
import type { Feature } from '../../kernel/features.ts';

export const heartbeats: Feature = {
  name: 'heartbeats',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./schedule.ts')).openHeartbeats }],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { heartbeats: ['Schedule', 'heartbeats: polls of agents'] }]],
  effects: async () => (await import('./store/answer-poll.ts')).EFFECTS,
  turns: async () => (await import('./judge-poll.ts')).pollsInTurns,
};
