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
  const deadlineMs = deadlineSeconds * 1000;
  const receivedAt = inputs[0]?.receivedAt ?? 0;
  return receivedAt + deadlineMs - Math.min(LIVE_MS_BEFORE_DEADLINE, deadlineMs / 2);
}

function laneOf(input: Pick<Input, 'body'> | undefined): MessageLane {
  const { via } = (input?.body ?? {}) as { via?: unknown };
  return MESSAGE_LANES.find((lane) => lane === via) ?? 'live';
}
