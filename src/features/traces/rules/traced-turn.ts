// The facts of a turn from which its trace is made. Times are text in ISO 8601.
import type { TokenCounts } from '../../../core/model-request.ts';

export interface TracedInput {
  id: string;
  seq: number;
  kind: string;
  disposition: string;
  /** What made it; null: a request. */
  causeKey: string | null;
  traceparent: string | null;
  receivedAt: string;
}

interface TracedCall {
  n: number;
  purpose: string;
  status: 'ok' | 'failed' | 'aborted';
  stopReason: string | null;
  error: unknown;
  model: string | null;
  usage: TokenCounts;
  costUsd: number | null;
  tier: string;
  startedAt: string;
  firstChunkAt: string | null;
  endedAt: string;
}

interface TracedTool {
  callId: string;
  name: string;
  status: string;
  runs: number;
  startedAt: string;
  endedAt: string | null;
}

export interface TracedDelivery {
  id: string;
  channel: string;
  status: string;
  attempts: number;
  httpStatus: number | null;
  createdAt: string;
  /** Null: it has not ended. */
  settledAt: string | null;
}

/** A turn that has ended. */
export interface TracedTurn {
  id: string;
  sessionKey: string;
  agentId: string;
  kind: string;
  lane: string;
  status: string;
  attempt: number;
  model: string;
  tags: Readonly<Record<string, string>>;
  costUsd: number | null;
  error: unknown;
  startedAt: string;
  endedAt: string | null;
  claimedAt: string;
  attempts: readonly {
    attempt: number;
    worker: string | null;
    claimedAt: string;
    endedAt: string | null;
    how: string | null;
  }[];
  steps: readonly { n: number; calls: readonly TracedCall[]; tools: readonly TracedTool[] }[];
  /** The stretches of its time, of which only the waits are used. */
  spans: readonly { kind: string; name: string; startedAt: string; endedAt: string | null }[];
  /** Its inputs, in the order of their numbers. */
  inputs: readonly TracedInput[];
  /** The provider's ids of its answers, by the number of the call. */
  responseIds: Readonly<Record<string, string>>;
  compactions: readonly {
    id: string;
    reason: string;
    status: string;
    tokensBefore: number;
    tokensAfter: number | null;
    startedAt: string;
    endedAt: string | null;
  }[];
  deliveries: readonly TracedDelivery[];
  /** The tool call that spawned its session, with the inputs of that turn; null: none did. */
  spawnedBy: { turnId: string; step: number; callId: string; inputs: readonly TracedInput[] } | null;
  /** The cron whose tick it answers; null: none. */
  cron: { id: string; name: string } | null;
  batchId: string | null;
  /** Texts; null: they are not exported. */
  content: { instructions: string | null; inputs: readonly string[]; reply: string | null } | null;
}

/** What rows do not hold. */
export interface TraceSurroundings {
  /** The hosts that answer model calls, by provider, as far as they are known. */
  servers: ReadonlyMap<string, { address: string; port: number }>;
}
