// What keeps a service from working, in words. Pure.

export const HEALTH_KINDS = [
  'no_worker',
  'no_scheduler',
  'reconciler_stalled',
  'outbox_stalled',
  'versions_differ',
  'clock_off',
  'events_held',
] as const;

export type HealthKind = (typeof HEALTH_KINDS)[number];

/** A trouble as it is read from the database. */
export interface HealthFact {
  kind: HealthKind;
  /** A lane, a process, a channel, versions, or the session of a transaction. */
  name: string;
  count: number;
  /** Null: not known. */
  since: string | null;
}

/** Due work that no worker serves is reported after this time, in milliseconds. */
export const WORK_UNSERVED_MS = 3_000;
/** A due delivery that is not sent is reported after this time, in milliseconds. */
export const DELIVERY_STALLED_MS = 15_000;
/** Leases are decided by the database's clock alone (G8): a clock that is off only misleads people, from about here on, in milliseconds. */
export const CLOCK_OFF_MS = 5_000;
/** A transaction that holds back live events is reported after this time, in milliseconds. */
export const HELD_BACK_MS = 5_000;

/** How a trouble is shown. */
export interface HealthWords {
  severity: 'error' | 'warning';
  text: string;
  /** The path of the screen that shows it. */
  href: string;
  /** What to do next. */
  fix: string;
}

/** The words of a trouble. */
export function wordsOfHealth({ kind, name, count }: HealthFact): HealthWords {
  return WORDS[kind](name, count);
}

const START_WORKER = 'Start a worker: holdfast start --roles worker';

const WORDS: Readonly<Record<HealthKind, (name: string, count: number) => HealthWords>> = {
  no_worker: (lane, count) => ({
    severity: 'error',
    text: `No worker serves the lane ${lane}; ${sessions(count)} work in it`,
    href: `/waiting?lane=${lane}`,
    fix: `${START_WORKER} (with HOLDFAST_CONCURRENCY over 0 for the lane)`,
  }),
  no_scheduler: (_, count) => ({
    severity: 'error',
    text: `No scheduler is running; ${count === 1 ? '1 cron, delayed message or batch waits' : `${count} crons, delayed messages and batches wait`} for one`,
    href: '/crons',
    fix: 'Start a process with the scheduler role: holdfast start --roles scheduler',
  }),
  reconciler_stalled: (name) => ({
    severity: 'error',
    text: `The reconciler of the process ${name} has not completed a round for ten intervals`,
    href: '/#workers',
    fix: 'Look for "Part of a reconciler round failed" in its log, and restart the process if the database answers.',
  }),
  outbox_stalled: (channel, count) => ({
    severity: 'error',
    text: `${count === 1 ? '1 delivery' : `${count} deliveries`} through ${channel} ${count === 1 ? 'is' : 'are'} overdue`,
    href: '/deliveries?status=pending',
    fix: START_WORKER,
  }),
  versions_differ: (versions) => ({
    severity: 'warning',
    text: `Processes of different versions are running: ${versions}`,
    href: '/#workers',
    fix: 'Finish the deployment: restart the processes of the older version.',
  }),
  clock_off: (name) => ({
    severity: 'warning',
    text: `The clock of a process is ahead of the clock of the database: ${name}`,
    href: '/#workers',
    fix: 'Synchronise the clocks (NTP): times in logs and prompts are wrong. Locks are not affected.',
  }),
  events_held: (session) => ({
    severity: 'error',
    text: `An open transaction holds back live events: session ${session}`,
    href: '/events',
    fix: 'If the transaction is not needed, end it: "select pg_terminate_backend(<process id>)", or "rollback prepared" for a prepared transaction.',
  }),
};

function sessions(count: number): string {
  return count === 1 ? '1 session has' : `${count} sessions have`;
}
