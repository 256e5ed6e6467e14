// Memory search: the tools that search an agent's notes in its workspace, and the index in
// PostgreSQL that they use.
import type { Feature } from '../../kernel/features.ts';

export const memory: Feature = {
  name: 'memory',
  tools: async () => (await import('./tools.ts')).createMemoryTools,
};
