// Approvals: rules of the configuration hold tool calls back until a person has decided about them.
// The call waits parked; what runs is what was shown, once.
import type { Feature } from '../../kernel/features.ts';

export const approvals: Feature = {
  name: 'approvals',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openApprovalRounds }],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { approvals: ['Run', 'tool calls that wait for a decision'] }]],
  chat: async () => (await import('./chat-words.ts')).CHAT_WORDS,
  turns: async () => (await import('./hold-calls.ts')).approvalsInTurns,
};
