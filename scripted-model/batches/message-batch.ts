// One message batch of the server, and the form in which the API shows it.
import type { BatchRequest } from './validate-batch.ts';

export type BatchStatus = 'in_progress' | 'canceling' | 'ended';

export interface MessageBatch {
  readonly id: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly createdAt: number;
  readonly requests: readonly BatchRequest[];
  /** True for a batch of another program. */
  readonly isForeign: boolean;
  /** True when it ends without a line for its last request. */
  readonly missesLine: boolean;
  status: BatchStatus;
  cancelledAt: number | null;
  endedAt: number | null;
  /** A line for each request that has one, in the order in which they are sent. */
  lines: string[];
  counts: { processing: number; succeeded: number; errored: number; canceled: number; expired: number };
}

const DAY_MS = 86_400_000;

/** The batch as the API answers it. `url` is the address of the server. */
export function shownBatch(batch: MessageBatch, url: string): Record<string, unknown> {
  const at = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: batch.id,
    type: 'message_batch',
    processing_status: batch.status,
    request_counts: batch.counts,
    created_at: at(batch.createdAt),
    expires_at: at(batch.createdAt + DAY_MS),
    ended_at: at(batch.endedAt),
    cancel_initiated_at: at(batch.cancelledAt),
    archived_at: null,
    results_url: batch.status === 'ended' ? `${url}/v1/messages/batches/${batch.id}/results` : null,
  };
}
