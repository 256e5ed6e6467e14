// Deliveries: replies that leave through channels. The outbox keeps them in the order of their
// session, tries again, and signs them.
import type { Feature } from '../../kernel/features.ts';

export const deliveries: Feature = {
  name: 'deliveries',
  inRoles: [
    { roles: ['worker'], load: async () => (await import('./relay.ts')).openRelay },
    { roles: ['worker', 'scheduler'], load: async () => (await import('./relay.ts')).openDueDeliveries },
  ],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { deliveries: ['Look', 'deliveries: the outbox'] }]],
};
