// Evaluations: items of data sets, copied from turns or sent as lines, are asked again with changes,
// and each run is graded, so that people know whether a change makes an agent better.
import type { Feature } from '../../kernel/features.ts';

export const evaluations: Feature = {
  name: 'evaluations',
  inRoles: [
    { roles: ['scheduler'], load: async () => (await import('./copy-rounds.ts')).openCopyRounds },
    { roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openEvaluationRounds },
  ],
  routes: [() => import('./routes.ts'), () => import('./dataset-routes.ts')],
  turns: async () => (await import('./in-turns.ts')).evaluationsInTurns,
  commands: [
    [() => import('./commands/eval.ts'), { eval: ['Talk', 'evaluations: whether a change makes an agent better'] }],
    [() => import('./commands/datasets.ts'), { datasets: ['Talk', 'data sets: the cases of evaluations'] }],
  ],
};
