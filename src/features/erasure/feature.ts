// Erasure of sessions and of people who write: every trace of them in every table, in bounded
// portions, and a record that it was done.
import type { Feature } from '../../kernel/features.ts';

export const erasure: Feature = {
  name: 'erasure',
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { sessions: null, subjects: ['Look', 'subjects: the people who write'] }]],
};
