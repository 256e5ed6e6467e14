// The catalogue of models: what is known of the windows, limits, inputs, thinking levels and prices
// of models, for people who choose one; and the providers of models with the states of their keys.
import type { Feature } from '../../kernel/features.ts';

export const catalogue: Feature = {
  name: 'catalogue',
  routes: [() => import('./routes.ts')],
  commands: [
    [
      () => import('./commands.ts'),
      { models: null, providers: ['Look', 'the providers of models, and which of their keys are used'] },
    ],
  ],
};
