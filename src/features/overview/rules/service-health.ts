// What keeps a service from working, or needs a person although it works, in words. Pure.
import { sandboxStep } from '../../../tools/sandbox/rules/sandbox-step.ts';

/** A service with one of these is degraded. */
export const TROUBLE_KINDS = [
  'model_away',
  'model_wrong_address',
  'model_limited',
  'budget_reached',
  'paused',
  'queue_unreachable',
  'no_worker',
  'no_scheduler',
  'reconciler_stalled',
  'files_hang',
  'outbox_stalled',
  'deliveries_failing',
  'versions_differ',
  'clock_off',
  'events_held',
] as const;

/**
 * A service with one of these works, and says so: a balancer in front of it must not take processes
 * out because a server of tools is away.
 */
export const NOTED_KINDS = ['mcp_lost', 'mcp_unconfined', 'calls_unknown'] as const;

export const HEALTH_KINDS = [...TROUBLE_KINDS, ...NOTED_KINDS] as const;

export type HealthKind = (typeof HEALTH_KINDS)[number];

/** A trouble as it is read from the database. */
export interface HealthFact {
  kind: HealthKind;
  /**
   * A provider, a budget, the scope of a pause, a lane, a process, a channel with its destination,
   * versions, the session of a transaction, an MCP server or a tool.
   */
  name: string;
  /** The error of what it is, for people with a key; null: there is none. */
  detail: string | null;
  count: number;
  /** Null: not known. */
  since: string | null;
}

/** Due work that no worker serves is reported after this time, in milliseconds. */
export const WORK_UNSERVED_MS = 3_000;
/** Turns that a provider holds back for a time are reported after this time, in milliseconds. */
export const LIMITED_MS = 5_000;
/** A due delivery that is not sent is reported after this time, in milliseconds. */
export const DELIVERY_STALLED_MS = 15_000;
/**
 * Leases are decided by the database's clock alone (G8): a clock that is off only misleads people,
 * from about here on, in milliseconds.
 */
export const CLOCK_OFF_MS = 5_000;
/** A transaction that holds back live events is reported after this time, in milliseconds. */
export const HELD_BACK_MS = 5_000;
/**
 * An MCP server is reported after two tries that failed, or when it has been lost for this time, in
 * milliseconds.
 */
export const MCP_LOST_MS = 30_000;
/** A server that has been due for this time is not asked any more, in milliseconds. */
export const MCP_ASKED_MS = 300_000;

/** How a trouble is shown. */
export interface HealthWords {
  severity: 'error' | 'warning';
  text: string;
  /** The path of the screen that shows it. */
  href: string;
  /** What to do next. */
  fix: string;
}

export function wordsOfHealth({ kind, name, count, detail }: Omit<HealthFact, 'since'>): HealthWords {
  const words = WORDS[kind](name, count, detail ?? '');
  return detail === null ? words : { ...words, text: `${words.text}: ${detail}` };
}

/** What everyone may read of a fact, who needs no key for it. */
export function noteOfHealth(fact: HealthFact): string {
  return `${wordsOfHealth({ ...fact, detail: null }).text}; GET /v1/attention says what to do`;
}

/** Whether the service is degraded by such a fact. */
export function isTrouble(kind: HealthKind): kind is (typeof TROUBLE_KINDS)[number] {
  return (TROUBLE_KINDS as readonly HealthKind[]).includes(kind);
}

const START_WORKER = 'Start a worker: holdfast start --roles worker';

const WORDS: Readonly<Record<HealthKind, (name: string, count: number, detail: string) => HealthWords>> = {
  model_away: (name, count) => ({
    severity: 'error',
    text: `The provider ${name} does not answer; ${turnsWait(count)} for it`,
    href: '/waiting?reason=model_away',
    fix: 'The turns resume when the provider answers. Check the network and the status page of the provider, or configure `fallbacks`.',
  }),
  model_wrong_address: (name, count) => ({
    severity: 'error',
    text: `At the address of the provider ${name}, something else answers; ${turnsWait(count)} for it`,
    href: '/waiting?reason=model_wrong_address',
    fix: `Correct \`models.providers.${name}.baseUrl\`; "holdfast models probe ${name}" tests it.`,
  }),
  model_limited: (name, count) => ({
    severity: 'warning',
    text: `The provider ${name} limits calls; ${turnsWait(count)} until it accepts them again`,
    href: '/waiting',
    fix: 'The turns resume by themselves. If this is frequent, set `models.limits` below the limits of the provider.',
  }),
  budget_reached: (name, count) => ({
    severity: 'error',
    text: `The budget ${name} is reached; ${turnsWait(count)} for it`,
    href: '/costs#budgets',
    fix: 'Raise `limitUsd`, or wait for the next period.',
  }),
  paused: (name) => ({
    severity: 'warning',
    text: `${name === '' ? 'Everything' : `The ${name}`} is paused by an operator`,
    href: '/waiting',
    fix: `To resume: holdfast resume${name === '' ? '' : `, with the options of the pause (${name})`}`,
  }),
  queue_unreachable: (_, count) => ({
    severity: 'warning',
    text: `${count === 1 ? '1 process' : `${count} processes`} cannot reach the queue; workers look for due sessions in the database, with a short delay`,
    href: '/processes',
    fix: 'Start the server of the queue again: that of REDIS_URL, or the database if REDIS_URL is not set.',
  }),
  no_worker: (lane, count) => ({
    severity: 'error',
    text: `No worker serves the lane ${lane}; ${sessions(count)} work in it`,
    href: `/waiting?lane=${lane}`,
    fix: `${START_WORKER} (with HOLDFAST_CONCURRENCY over 0 for the lane)`,
  }),
  no_scheduler: (_, count) => ({
    severity: 'error',
    text: `No scheduler is running; ${count === 1 ? '1 cron, delayed message or batch waits' : `${count} crons, delayed messages and batches wait`} for one`,
    href: '/processes',
    fix: 'Start a process with the scheduler role: holdfast start --roles scheduler',
  }),
  reconciler_stalled: (name) => ({
    severity: 'error',
    text: `The reconciler of the process ${name} has not completed a round for ten intervals`,
    href: '/processes',
    fix: 'Look for "Part of a reconciler round failed" in its log, and restart the process if the database answers.',
  }),
  files_hang: (name) => ({
    severity: 'error',
    text: `A file system does not answer a process: ${name}`,
    href: '/processes',
    fix: 'Check the mount of this path: the server of an NFS mount, or the process that serves a FUSE mount. Tools and turns that need files fail or wait in this process until it answers; restart the process to move its turns to another one.',
  }),
  outbox_stalled: (channel, count) => ({
    severity: 'error',
    text: `${deliveries(count)} through ${channel} ${count === 1 ? 'is' : 'are'} overdue`,
    href: '/deliveries?status=pending',
    fix: START_WORKER,
  }),
  deliveries_failing: (destination, count) => ({
    severity: 'warning',
    text: `${deliveries(count)} to ${destination} ${count === 1 ? 'has failed and is' : 'have failed and are'} retried`,
    href: '/deliveries?status=pending',
    fix: 'Repair the receiver: "holdfast deliveries list --status pending" shows its last answers. "holdfast deliveries send-now <id>" then sends one now, and the others after it.',
  }),
  versions_differ: (versions) => ({
    severity: 'warning',
    text: `Processes of different versions are running: ${versions}`,
    href: '/processes',
    fix: 'Finish the deployment: restart the processes of the older version.',
  }),
  clock_off: (name) => ({
    severity: 'warning',
    text: `The clock of a process is ahead of the clock of the database: ${name}`,
    href: '/processes',
    fix: 'Synchronise the clocks (NTP): times in logs and prompts are wrong. Locks are not affected.',
  }),
  events_held: (session) => ({
    severity: 'error',
    text: `An open transaction holds back live events: session ${session}`,
    href: '/events',
    fix: 'If the transaction is not needed, end it: "select pg_terminate_backend(<process id>)", or "rollback prepared" for a prepared transaction.',
  }),
  mcp_lost: (name) => ({
    severity: 'error',
    text: `The MCP server ${name} does not answer, so calls of its tools fail`,
    href: '/settings?tab=mcp',
    fix: `Start the server, or correct mcp.servers.${name} and restart the workers. To ask it now: holdfast mcp probe ${name}`,
  }),
  mcp_unconfined: (name, _, reason) => ({
    severity: 'warning',
    text: `The MCP server ${name} does not run in the sandbox as it should`,
    href: '/settings?tab=mcp',
    fix: `${sandboxStep(reason)} If it may run outside, set mcp.servers.${name}.sandbox to "off".`,
  }),
  calls_unknown: (tool, count) => ({
    severity: 'error',
    text: `${count === 1 ? `1 call of ${tool} has` : `${count.toLocaleString('en-US')} calls of ${tool} have`} an unknown outcome: ${count === 1 ? 'it' : 'each'} may or may not have taken effect`,
    href: `/turns?callStatus=unknown&tool=${encodeURIComponent(tool)}`,
    fix: `Check what each has done, then acknowledge this problem. To list them: holdfast turns list --call-status unknown --tool ${tool}`,
  }),
};

function turnsWait(count: number): string {
  return count === 1 ? '1 turn waits' : `${count.toLocaleString('en-US')} turns wait`;
}

function sessions(count: number): string {
  return count === 1 ? '1 session has' : `${count} sessions have`;
}

function deliveries(count: number): string {
  return count === 1 ? '1 delivery' : `${count} deliveries`;
}
