// Rate limits of models, for all workers together: a check before each call takes its place in the
// limits that are configured.
import type { Feature } from '../../kernel/features.ts';

export const limits: Feature = {
  name: 'limits',
  turns: async () => (await import('./rate-limits.ts')).limitsOfTurns,
};
