// The catalogue of the queue for all other folders: the kinds of rings, and how to read a job from
// the queue.
export { JOB_LOCK_MS, jobForRing, parseJob, STALLED_COUNT_MAX, STALLED_INTERVAL_MS } from './create-doorbell.ts';
export { createDoorbell, type RingQueue } from './create-doorbell.ts';
export { QUEUE_NAMES, type Doorbell, type QueueName } from './ring.ts';
export type { Ring, RingKind, TurnRing } from '../src/kernel/queue/after-commit.ts';
