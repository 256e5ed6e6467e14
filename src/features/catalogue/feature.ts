// The catalogue of models: what is known of the windows, limits, inputs, thinking levels and prices of models, for people who choose one.
import type { Feature } from '../../kernel/features.ts';

export const catalogue: Feature = {
  name: 'catalogue',
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { models: null }]],
};
