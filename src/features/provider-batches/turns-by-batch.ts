// The part of the provider lane in a turn: it gets answers from batches, and drops what an ended turn has left.
import { readVia } from '../../core/message-via.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import { askByBatch } from './ask-by-batch.ts';
import { createStoreRequest } from './store/store-request.ts';

export function turnsByBatch({ database }: TurnParts): TurnFeature {
  const storeRequest = createStoreRequest(database);
  return {
    ask: (context, turn) => askByBatch({ ...context, storeRequest }, turn),
    effects: ({ id: turnId, journal }) =>
      readVia(journal.at.inputs) === 'live' ? [] : [{ kind: 'requests-left', turnId }],
  };
}
