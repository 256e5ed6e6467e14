// Budgets: how much model calls of an agent, a session, a key or all may cost per hour, day or
// month, or in total. A check before each call reserves its likely cost; what it did cost is
// settled afterwards. A turn that finds no room waits or fails.
import type { Feature } from '../../kernel/features.ts';

export const budgets: Feature = {
  name: 'budgets',
  inRoles: [
    { roles: ['api', 'worker', 'scheduler'], load: async () => (await import('./rounds.ts')).openBudgetBook },
    { roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openBudgetRounds },
  ],
  routes: [() => import('./routes.ts')],
  api: () => import('./api-part.ts'),
  commands: [[() => import('./commands.ts'), { budgets: ['Look', 'how much model calls may cost'] }]],
  turns: async () => (await import('./check-budgets.ts')).budgetsOfTurns,
};
