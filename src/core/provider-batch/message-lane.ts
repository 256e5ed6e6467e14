// Which turns ask their model in batches of the provider, and until when they wait for one. A turn goes the way that its first input asks
// for: messages that join it later change nothing.
import { MESSAGE_LANES, type MessageLane } from '../inbound.ts';

interface Input {
  body: unknown;
  /** Milliseconds since the epoch. */
  receivedAt: number;
}

/** A turn leaves the lane so long before its deadline, so that live calls can still finish it, in milliseconds. */
const LIVE_MS_BEFORE_DEADLINE = 15 * 60_000;

/** True for a turn whose model is asked in batches of the provider. */
export function isByBatch(inputs: readonly Pick<Input, 'body'>[]): boolean {
  return laneOf(inputs[0]) === 'provider-batch';
}

/** When a turn leaves the lane, in milliseconds since the epoch. Of a short deadline, half is left for live calls. */
export function leaveAtMs(inputs: readonly Input[], { deadlineSeconds }: { deadlineSeconds: number }): number {
  const [first] = inputs;
  const receivedAt = first?.receivedAt ?? 0;
  const { expiresAt } = (first?.body ?? {}) as { expiresAt?: unknown };
  const untilExpiryMs = typeof expiresAt === 'number' ? expiresAt - receivedAt : Number.POSITIVE_INFINITY;
  const deadlineMs = Math.max(0, Math.min(deadlineSeconds * 1000, untilExpiryMs));
  return receivedAt + deadlineMs - Math.min(LIVE_MS_BEFORE_DEADLINE, deadlineMs / 2);
}

/** What a batch says of the requests of its item; a single message belongs to none, and is asked live near its deadline. */
export function itemLaneOf(inputs: readonly Pick<Input, 'body'>[]): {
  batchId: string | null;
  fallback: 'live' | 'fail';
} {
  const { batchId, fallback } = (inputs[0]?.body ?? {}) as { batchId?: unknown; fallback?: unknown };
  return { batchId: typeof batchId === 'string' ? batchId : null, fallback: fallback === 'fail' ? 'fail' : 'live' };
}

function laneOf(input: Pick<Input, 'body'> | undefined): MessageLane {
  const { via } = (input?.body ?? {}) as { via?: unknown };
  return MESSAGE_LANES.find((lane) => lane === via) ?? 'live';
}
