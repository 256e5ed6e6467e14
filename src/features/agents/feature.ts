// Agents: what each of them is given, what it does, what it costs and what keeps it from working,
// on one page.
import type { Feature } from '../../kernel/features.ts';

export const agents: Feature = {
  name: 'agents',
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { agents: ['Look', 'agents: what they have, do and cost'] }]],
};
