// Tries: a turn is asked again, or an agent is asked something, in a session of its own that
// delivers nothing and changes nothing. The text, the model, the thinking level and the system
// prompt can be others.
import type { Feature } from '../../kernel/features.ts';

export const tries: Feature = {
  name: 'tries',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openTryRounds }],
  routes: [() => import('./routes.ts')],
  commands: [
    [
      () => import('./commands.ts'),
      { 'try [options] <turn>': ['Talk', 'ask a turn again, without any effect; print its reply'] },
    ],
  ],
  turns: async () => (await import('./stand-ins.ts')).triesInTurns,
};
