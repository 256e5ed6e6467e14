// Scores: what people think of turns. Programs and the dashboard give them over the API, people in
// chats by their reactions.
import type { Feature } from '../../kernel/features.ts';

export const scores: Feature = {
  name: 'scores',
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { scores: ['Look', 'what people think of turns'] }]],
};
