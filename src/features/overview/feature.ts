// The overview: figures of the service, its health, and the problems that need an operator, with
// what operators have decided about them.
import type { Feature } from '../../kernel/features.ts';

export const overview: Feature = {
  name: 'overview',
  inRoles: [{ roles: ['api', 'scheduler'], load: async () => (await import('./trouble-log.ts')).openTroubleLog }],
  routes: [() => import('./routes.ts')],
  api: () => import('./api-part.ts'),
  commands: [[() => import('./commands.ts'), { attention: ['Look', 'problems that need an operator'] }]],
};
