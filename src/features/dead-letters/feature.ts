// Dead letters: turns and deliveries that have failed for good, to be redriven or discarded by a
// person.
import type { Feature } from '../../kernel/features.ts';

export const deadLetters: Feature = {
  name: 'dead-letters',
  routes: [() => import('./routes.ts')],
  commands: [
    [() => import('./commands.ts'), { turns: null, dead: ['Look', 'dead letters: failed turns and deliveries'] }],
  ],
};
