// Why a delivery is retried. Pure.
import type { Why } from './why.ts';

/** A delivery as far as it matters here. */
export interface RetriedDelivery {
  status: string;
  lastError: string | null;
  attempts: number;
  createdAt: string;
  dueAt: string;
  channel: string;
}

/** Null: it is not retried. */
export function whyRetried({ status, lastError, attempts, createdAt, dueAt, channel }: RetriedDelivery): Why | null {
  if ((status !== 'pending' && status !== 'sending') || lastError === null) return null;
  const text = `The receiver has not accepted its delivery in ${attempts === 1 ? '1 attempt' : `${attempts} attempts`}. Last: ${lastError}`;
  return { code: 'delivery_retried', text, since: createdAt, until: dueAt, by: channel };
}
