// A person lets models be called again before the time that their provider has asked for.
import type { BlockView } from '../contract/model-blocks.ts';
import { unblockModels } from '../store/governor/unblock-models.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import type { Service } from './service.ts';

/** Lifts the blocks of a model, or all if `model` is null, and rings for the turns that wait for it. */
export async function liftBlocks(
  { database, publish }: Service,
  model: string | null,
  idempotency: KeyedRequest | null,
): Promise<{ lifted: BlockView[] }> {
  return publish(await unblockModels(database, model, idempotency));
}
