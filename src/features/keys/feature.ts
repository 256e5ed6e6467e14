// API keys with roles, and sign-in of browsers with them. The keys of the configuration work
// without it.
import type { Feature } from '../../kernel/features.ts';

export const keys: Feature = {
  name: 'keys',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openKeyRounds }],
  routes: [() => import('./auth-routes.ts'), () => import('./routes.ts')],
  api: () => import('./api-part.ts'),
  commands: [
    [() => import('./commands.ts'), { keys: ['Run', 'API keys, with roles (needs an admin key)'] }],
    [
      () => import('./open-command.ts'),
      {
        'open [options] [path]': [
          'Look',
          'open the dashboard in the browser, signed in; without a browser, print the address',
        ],
      },
    ],
  ],
};
