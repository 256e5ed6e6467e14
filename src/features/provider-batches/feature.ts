// The cheaper way: calls that may wait go through a batch of the provider. The turn is parked with
// its request; the lane collects requests into submissions, follows them, and wakes the turns with
// their answers.
import type { Feature } from '../../kernel/features.ts';

export const providerBatches: Feature = {
  name: 'provider-batches',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./provider-lane.ts')).openProviderLane }],
  routes: [() => import('./routes.ts')],
  effects: async () => (await import('./store/store-results.ts')).EFFECTS,
  turns: async () => (await import('./ask-by-batch.ts')).turnsByBatch,
};
