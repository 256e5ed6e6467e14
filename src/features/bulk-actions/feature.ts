// Bulk actions: one action on many turns, messages, deliveries or dead letters, at a bounded rate.
import type { Feature } from '../../kernel/features.ts';

export const bulkActions: Feature = {
  name: 'bulk-actions',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openBulkRounds }],
  routes: [() => import('./routes.ts')],
  commands: [
    [
      () => import('./commands.ts'),
      { bulk: ['Look', 'one action on many turns, messages, deliveries or dead letters'] },
    ],
  ],
};
