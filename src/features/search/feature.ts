// Search: finds words in messages, replies and errors. A round of the scheduler adds what was
// written to a table with a full-text index, after the turn that wrote it, so a turn pays nothing.
import type { Feature } from '../../kernel/features.ts';

export const search: Feature = {
  name: 'search',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openSearchRounds }],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { 'search [options] <words>': ['Look', 'find words in what was said'] }]],
};
