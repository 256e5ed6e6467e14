// What was used and what it cost: roll-ups of the event log by minute, hour and day, the prices of
// models, and repricing.
import type { Feature } from '../../kernel/features.ts';

export const costs: Feature = {
  name: 'costs',
  inRoles: [
    { roles: ['worker'], load: async () => (await import('./rounds.ts')).keepPrices },
    { roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openUsageRounds },
  ],
  routes: [() => import('./routes.ts')],
  commands: [
    [
      () => import('./commands.ts'),
      {
        'usage [options]': ['Look', 'print usage and costs, oldest first'],
        prices: ['Look', 'what models cost'],
      },
    ],
  ],
};
