// Batches: many conversations that are submitted as one, with progress, pauses, a cap of costs, and
// results as JSON lines. Items wait in their own table. Rounds feed them into inboxes as room
// allows, settle what has ended, and close the batch. A turn of an item is like any other turn.
import type { Feature } from '../../kernel/features.ts';

export const batches: Feature = {
  name: 'batches',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openBatchRounds }],
  routes: [() => import('./routes.ts')],
  commands: [
    [() => import('./commands/batch.ts'), { batch: ['Talk', 'batches: many conversations submitted as one'] }],
  ],
};
