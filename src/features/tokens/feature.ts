// Tokens for browsers: a program that has a key gives each of its visitors a token, with which a
// page can send messages to one session and read the answers.
import type { Feature } from '../../kernel/features.ts';

export const tokens: Feature = {
  name: 'tokens',
  routes: [() => import('./routes.ts')],
  api: () => import('./api-part.ts'),
};
