// The catalogue of the queue, for everybody outside: the kinds of jobs, how each is rung, and how a job is read.
export { ringAnnouncement } from './announcement.ts';
export { jobForRing, parseJob, type ParsedJob } from './catalogue.ts';
export { createDoorbell, type DoorbellOptions, type RingQueue } from './create-doorbell.ts';
export { ringCronTick } from './cron-tick.ts';
export { ringDelivery } from './delivery.ts';
export { ringFollowUp } from './follow-up.ts';
export { ringHeartbeatPoll } from './heartbeat-poll.ts';
export { ringInboundMessage } from './inbound-message.ts';
export type { JobPayload, QueuedRing } from './job-definition.ts';
export { JOB_LOCK_MS, JOB_OPTIONS, STALLED_COUNT_MAX, STALLED_INTERVAL_MS } from './options.ts';
export {
  QUEUE_NAMES,
  type DeliveryRing,
  type Doorbell,
  type QueueDepth,
  type QueueName,
  type Ring,
  type RingKind,
  type TurnRing,
  type TurnRingKind,
} from './ring.ts';
