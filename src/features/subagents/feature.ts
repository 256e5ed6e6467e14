// Subagents: sessions that other sessions spawn for a task. Their ends are announced to the session
// above; a stop goes down the family. Sessions also send messages to each other, and wait for each
// other without a slot.
import type { Feature } from '../../kernel/features.ts';

export const subagents: Feature = {
  name: 'subagents',
  inRoles: [
    { roles: ['worker', 'scheduler'], load: async () => (await import('./rounds.ts')).openDeadlineRounds },
    { roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openStalledRounds },
  ],
  routes: [() => import('./routes.ts')],
  commands: [
    [
      () => import('./commands.ts'),
      {
        'spawn [options] <session> <task>': [
          'Talk',
          'give a task to a new subagent of a session; print the run or, with --wait, the result',
        ],
        subagents: ['Look', 'subagents that sessions have spawned'],
      },
    ],
  ],
  effects: async () => (await import('./store/end-runs.ts')).EFFECTS,
  async tools() {
    return (await import('./tools.ts')).createSessionTools;
  },
};
