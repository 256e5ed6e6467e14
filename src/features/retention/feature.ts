// Retention: rows of all kinds that have an age are deleted when it is over, a few at a time.
import type { Feature } from '../../kernel/features.ts';

export const retention: Feature = {
  name: 'retention',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openRetention }],
};
