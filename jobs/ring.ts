// The interface of the doorbell: what can be rung, and where. A ring carries ids only and means
// "check this session"; all facts are rows, so a ring that is lost or repeated changes only the
// time.
import type { Ring } from '../src/kernel/queue/after-commit.ts';
import type { Lane } from '../src/config.ts';

/** A queue per lane, and one for replies on their way out. */
export type QueueName = Lane | 'deliver';

// A record, so that the compiler finds a lane that is missing here.
const QUEUES: Record<QueueName, true> = { main: true, subagent: true, cron: true, batch: true, deliver: true };

export const QUEUE_NAMES: readonly QueueName[] = Object.keys(QUEUES) as QueueName[];

/**
 * How many jobs a queue holds. `active` also counts those of a crashed worker, until they are found
 * stalled.
 */
export interface QueueDepth {
  waiting: number;
  active: number;
  delayed: number;
}

/**
 * Rings for sessions that have work. The caller has committed that work before: a ring can be lost,
 * the work cannot.
 */
export interface Doorbell {
  /**
   * Rings, and resolves when that succeeded or failed. Never rejects and never takes longer than
   * its bound: a failed ring is logged, and the reconciler sends it again. Rings that arrive
   * together are sent together.
   */
  ring(rings: readonly Ring[]): Promise<void>;
  /** How many jobs each queue holds now. Rejects when the queue cannot be asked. */
  depth(): Promise<Record<QueueName, QueueDepth>>;
  /** Sends the waiting rings, within the same bound. Later rings are dropped. */
  close(): Promise<void>;
}
