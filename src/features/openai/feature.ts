// The endpoints of OpenAI's clients: chat completions, responses, files, batches and models, over
// the same sessions and turns.
import type { Feature } from '../../kernel/features.ts';

export const openai: Feature = {
  name: 'openai',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./rounds.ts')).openFileRounds }],
  routes: [
    () => import('./routes/chat.ts'),
    () => import('./routes/responses.ts'),
    () => import('./routes/models.ts'),
    () => import('./routes/files.ts'),
    () => import('./routes/batches.ts'),
  ],
  turns: async () => (await import('./client-tools.ts')).clientTools,
};
