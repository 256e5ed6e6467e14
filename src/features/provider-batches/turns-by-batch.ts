// The part of the provider lane in a turn: it gets answers from batches, stores its requests with the park, and drops what an ended turn has left.
import { readVia } from '../../core/message-via.ts';
import type { TurnFeature } from '../../kernel/turn/context.ts';
import { askByBatch } from './ask-by-batch.ts';
import { HOP_PARK } from './store/hop-parts.ts';

export const turnsByBatch = (): TurnFeature => ({
  ask: askByBatch,
  park: HOP_PARK,
  effects: ({ id: turnId, journal }) =>
    readVia(journal.at.inputs) === 'live' ? [] : [{ kind: 'requests-left', turnId }],
});
