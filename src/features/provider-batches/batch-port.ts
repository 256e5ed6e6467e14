// The port to a provider's batches: how a submission is made, found, polled, read and cancelled.
// Nothing here is retried, and nothing is decided: what follows from each answer is in `rules/`.
import type { ListedBatch } from './rules/submission.ts';

export interface NewSubmission {
  requests: readonly { customId: string; /** JSON. */ params: string }[];
  /** Called right before the request leaves; throws when nothing may be sent. */
  beforeSend: () => void;
}

/** A batch as the provider shows it. */
export interface ProviderBatch {
  id: string;
  hasEnded: boolean;
  expiresAt: string | null;
  counts: Record<string, number>;
}

/** `refused`: nothing was made. `unknown`: the batch may have been made. */
export type SubmitOutcome =
  | { kind: 'submitted'; batch: ProviderBatch }
  | { kind: 'refused'; status: number; message: string; retryAfterMs: number | null }
  | { kind: 'unknown'; message: string };

export interface BatchPort {
  /** The account of submissions: a hash of the address, whatever the key. */
  readonly account: string;
  /** How long a submission may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Rejects only with what `beforeSend` throws: then nothing was sent. */
  submit(submission: NewSubmission): Promise<SubmitOutcome>;
  /**
   * The batches that were made since then, and the provider's time; rejects when they cannot be
   * listed.
   */
  find(sinceMs: number): Promise<{ listed: ListedBatch[]; nowMs: number }>;
  /** Null: the provider does not know it. Rejects when it cannot be asked. */
  poll(id: string): Promise<ProviderBatch | null>;
  /** The lines of the results; null: they were deleted. Rejects when the stream breaks. */
  read(id: string): Promise<AsyncIterable<string> | null>;
  cancel(id: string): Promise<void>;
}
