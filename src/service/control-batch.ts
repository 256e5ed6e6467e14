// What people do to a batch that was submitted.
import {
  controlBatch as control,
  deleteBatch as remove,
  patchBatch as patch,
  type BatchCommand,
  type BatchControl,
  type BatchPatch,
} from '../store/batches/control.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import type { Service } from './service.ts';

/** Pauses, resumes, cancels it, or retries what failed. The schedulers do the rest. */
export function controlBatch(
  { database }: Service,
  request: { batchId: string; command: BatchCommand; idempotency: KeyedRequest | null },
): Promise<BatchControl> {
  return control(database, request);
}

export async function editBatch(
  { database, publish }: Service,
  batchId: string,
  changes: BatchPatch,
): Promise<BatchControl> {
  return publish(await patch(database, batchId, changes));
}

/** Deletes it with its items, if it has ended. */
export function deleteBatch({ database }: Service, batchId: string): Promise<BatchControl> {
  return remove(database, batchId);
}
