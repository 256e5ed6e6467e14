// The endpoints of OpenAI's clients: chat completions, responses, files, batches and models, over the same sessions and turns.
import type { Feature } from '../../kernel/features.ts';

export const openai: Feature = {
  name: 'openai',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openFileRounds }],
};
