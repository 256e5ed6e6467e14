// What the commands of agents run in: shown, and checked by a person. The sandbox itself is in
// src/tools/sandbox, in front of the shell.
import type { Feature } from '../../kernel/features.ts';

export const sandbox: Feature = {
  name: 'sandbox',
  routes: [() => import('./routes.ts')],
  api: () => import('./api-part.ts'),
  commands: [
    [() => import('./commands.ts'), { sandbox: ['Look', 'check that the commands of agents run in a sandbox'] }],
  ],
};
