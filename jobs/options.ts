// What holds for every job: it is tried once, and it leaves no trace. Attempts, failures and history are rows of PostgreSQL,
// counted before the work, so that a killed worker counts too; the queue's own bookkeeping would count some of them twice.

/** BullMQ's options of every job. Removing finished jobs frees their ids immediately and keeps the queue as small as its backlog. */
export const JOB_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true } as const;

/** How long BullMQ believes that a silent worker is alive. Long, because the session's lease decides, not this. */
export const JOB_LOCK_MS = 60_000;

/** How often a lane searches for jobs of silent workers. The reconciler has rung again for their sessions long before. */
export const STALLED_INTERVAL_MS = 30_000;

/** A job may be found stalled without end: a count kept here would end jobs whose session still has work. */
export const STALLED_COUNT_MAX = 2_147_483_647;
