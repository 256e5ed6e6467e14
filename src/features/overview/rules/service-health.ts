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
   * A provider, a budget, the scope of a pause, a lane, a process, the account of a channel or a
   * webhook with its host, versions, the session of a transaction, an MCP server or a tool.
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

/** Something that can be done about a trouble. */
export interface FixAction {
  /** What it does, for people. */
  text: string;
  /** The path of the screen where it is done; null: it is done elsewhere. */
  href: string | null;
  /** The command that does it; null: there is none. */
  command: string | null;
}

const MCP_SCREEN = '/settings?tab=mcp';

/** How a trouble is shown. */
export interface TroubleWords {
  severity: 'error' | 'warning';
  text: string;
  /** The path of the screen that shows it. */
  href: string;
  /** What to do next, without what `actions` have. */
  advice: string;
  actions: readonly FixAction[];
}

/** The same, and what to do next in one text. */
export interface HealthWords extends TroubleWords {
  fix: string;
}

/** Adds the detail of the fact to its words, and what to do next as one text. */
export function withFix(words: TroubleWords, detail: string | null): HealthWords {
  const commands = words.actions.flatMap(({ text, command }) => (command === null ? [] : [`${text}: ${command}`]));
  const fix = [words.advice, ...(commands.length === 0 ? [] : [commands.join('; ')])].join(' ');
  return { ...words, text: detail === null ? words.text : `${words.text}: ${detail}`, fix };
}

export function wordsOfHealth({ kind, name, count, detail }: Omit<HealthFact, 'since'>): HealthWords {
  return withFix(WORDS[kind](name, count, detail ?? ''), detail);
}

/**
 * What everyone may read, who needs no key for it: kinds and counts, without names (G32). `facts`
 * of other kinds are left out.
 */
export function notesOf(facts: readonly Pick<HealthFact, 'kind' | 'count'>[]): string[] {
  return NOTED_KINDS.flatMap((noted) => {
    const count = facts.filter(({ kind }) => kind === noted).reduce((sum, fact) => sum + fact.count, 0);
    return count === 0 ? [] : [`${NOTES[noted](count)}; GET /v1/attention says what to do`];
  });
}

const NOTES: Readonly<Record<(typeof NOTED_KINDS)[number], (count: number) => string>> = {
  mcp_lost: (count) => `${count === 1 ? '1 MCP server' : `${count} MCP servers`} cannot be used`,
  mcp_unconfined: (count) =>
    count === 1
      ? '1 MCP server does not run in the sandbox as it should'
      : `${count} MCP servers do not run in the sandbox as they should`,
  calls_unknown: (count) =>
    `${count === 1 ? '1 call has' : `${count.toLocaleString('en-US')} calls have`} an unknown outcome`,
};

/** Whether the service is degraded by such a fact. */
export function isTrouble(kind: HealthKind): kind is (typeof TROUBLE_KINDS)[number] {
  return (TROUBLE_KINDS as readonly HealthKind[]).includes(kind);
}

/** Something that is done on a screen, by a command, or both. */
export const action = (text: string, { href = null, command = null }: Partial<Omit<FixAction, 'text'>>): FixAction => ({
  text,
  href,
  command,
});

export const START_WORKER = action('Start a worker', { command: 'holdfast start --roles worker' });
export const START_SCHEDULER = action('Start a scheduler', { command: 'holdfast start --roles scheduler' });
const SEE_PROCESSES = action('See the processes', { href: '/processes', command: 'holdfast workers list' });
const SEE_WAITING = action('See what waits', { href: '/waiting', command: 'holdfast waiting' });
export const RAISE_LIMIT = action('Raise its limit', { href: '/costs#budgets', command: 'holdfast budgets list' });
const SEE_DELIVERIES = action('See their last answers', {
  href: '/deliveries?status=pending',
  command: 'holdfast deliveries list --status pending',
});

const WORDS: Readonly<Record<HealthKind, (name: string, count: number, detail: string) => TroubleWords>> = {
  model_away: (name, count) => ({
    severity: 'error',
    text: `The provider ${name} does not answer; ${turnsWait(count)} for it`,
    href: '/waiting?reason=model_away',
    advice:
      'The turns resume when the provider answers. Check the network and the status page of the provider, or configure fallbacks.',
    actions: [{ ...SEE_WAITING, href: '/waiting?reason=model_away' }],
  }),
  model_wrong_address: (name, count) => ({
    severity: 'error',
    text: `At the address of the provider ${name}, something else answers; ${turnsWait(count)} for it`,
    href: '/waiting?reason=model_wrong_address',
    advice: `Correct models.providers.${name}.baseUrl, then test it.`,
    actions: [
      { ...SEE_WAITING, href: '/waiting?reason=model_wrong_address' },
      action('Test it', { command: `holdfast models probe ${name}` }),
    ],
  }),
  model_limited: (name, count) => ({
    severity: 'warning',
    text: `The provider ${name} limits calls; ${turnsWait(count)} until it accepts them again`,
    href: '/waiting',
    advice: 'The turns resume by themselves. If this is frequent, set models.limits below the limits of the provider.',
    actions: [SEE_WAITING],
  }),
  budget_reached: (name, count) => ({
    severity: 'error',
    text: `The budget ${name} is reached; ${turnsWait(count)} for it`,
    href: '/costs#budgets',
    advice: 'The turns resume when its next window begins, or when its limit is raised.',
    actions: [RAISE_LIMIT],
  }),
  paused: (name) => ({
    severity: 'warning',
    text: `${name === '' ? 'Everything' : `The ${name}`} is paused by an operator`,
    href: '/waiting',
    advice: 'Messages wait until it is resumed.',
    actions: [
      action('Resume', {
        href: '/waiting',
        command: ['holdfast resume', ...name.split(', ').map((scope) => (scope === '' ? '' : `--${scope}`))]
          .join(' ')
          .trim(),
      }),
    ],
  }),
  queue_unreachable: (_, count) => ({
    severity: 'warning',
    text: `${count === 1 ? '1 process' : `${count} processes`} cannot reach the queue; workers look for due sessions in the database, with a short delay`,
    href: '/processes',
    advice: 'Start the server of the queue again: that of REDIS_URL, or the database if REDIS_URL is not set.',
    actions: [SEE_PROCESSES],
  }),
  no_worker: (lane, count) => ({
    severity: 'error',
    text: `No worker serves the lane ${lane}; ${sessions(count)} work in it`,
    href: `/waiting?lane=${lane}`,
    advice: 'Start a worker with HOLDFAST_CONCURRENCY over 0 for the lane.',
    actions: [SEE_PROCESSES, START_WORKER],
  }),
  no_scheduler: (_, count) => ({
    severity: 'error',
    text: `No scheduler is running; ${count === 1 ? '1 cron, delayed message or batch waits' : `${count} crons, delayed messages and batches wait`} for one`,
    href: '/processes',
    advice: 'Start a process with the scheduler role.',
    actions: [SEE_PROCESSES, START_SCHEDULER],
  }),
  reconciler_stalled: (name) => ({
    severity: 'error',
    text: `The reconciler of the process ${name} has not completed a round for ten intervals`,
    href: '/processes',
    advice: 'Look for "Part of a reconciler round failed" in its log, and restart the process if the database answers.',
    actions: [SEE_PROCESSES],
  }),
  files_hang: (name) => ({
    severity: 'error',
    text: `A file system does not answer a process: ${name}`,
    href: '/processes',
    advice:
      'Check the mount of this path: the server of an NFS mount, or the process that serves a FUSE mount. Tools and turns that need files fail or wait in this process until it answers; restart the process to move its turns to another one.',
    actions: [SEE_PROCESSES],
  }),
  outbox_stalled: (channel, count) => ({
    severity: 'error',
    text: `${deliveries(count)} through ${channel} ${count === 1 ? 'is' : 'are'} overdue`,
    href: '/deliveries?status=pending',
    advice: 'No worker sends them.',
    actions: [SEE_PROCESSES, START_WORKER],
  }),
  deliveries_failing: (destination, count) => ({
    severity: 'warning',
    text: `${deliveries(count)} to ${destination} ${count === 1 ? 'has failed and is' : 'have failed and are'} retried`,
    href: '/deliveries?status=pending',
    advice: 'Repair the receiver, then send one of them now; the others follow it.',
    actions: [SEE_DELIVERIES],
  }),
  versions_differ: (versions) => ({
    severity: 'warning',
    text: `Processes of different versions are running: ${versions}`,
    href: '/processes',
    advice: 'Finish the deployment: restart the processes of the older version.',
    actions: [SEE_PROCESSES],
  }),
  clock_off: (name) => ({
    severity: 'warning',
    text: `The clock of a process is ahead of the clock of the database: ${name}`,
    href: '/processes',
    advice: 'Synchronise the clocks (NTP): times in logs and prompts are wrong. Locks are not affected.',
    actions: [SEE_PROCESSES],
  }),
  events_held: (session) => ({
    severity: 'error',
    text: `An open transaction holds back live events: session ${session}`,
    href: '/events',
    advice:
      'If the transaction is not needed, end it in PostgreSQL with pg_terminate_backend and its process id, or with "rollback prepared" if it is prepared.',
    actions: [],
  }),
  mcp_lost: (name) => ({
    severity: 'error',
    text: `The MCP server ${name} cannot be used, so calls of its tools fail`,
    href: MCP_SCREEN,
    advice: `Start the server, or correct mcp.servers.${name} and restart the workers.`,
    actions: [action('Ask it now', { href: MCP_SCREEN, command: `holdfast mcp probe ${name}` })],
  }),
  mcp_unconfined: (name, _, reason) => ({
    severity: 'warning',
    text: `The MCP server ${name} does not run in the sandbox as it should`,
    href: MCP_SCREEN,
    advice: `${sandboxStep(reason)} If it may run outside, set mcp.servers.${name}.sandbox to "off".`,
    actions: [action('See where the servers run', { href: MCP_SCREEN, command: 'holdfast mcp list' })],
  }),
  calls_unknown: (tool, count) => {
    const href = `/turns?callStatus=unknown&tool=${encodeURIComponent(tool)}`;
    return {
      severity: 'error',
      text: `${count === 1 ? `1 call of ${tool} has` : `${count.toLocaleString('en-US')} calls of ${tool} have`} an unknown outcome: ${count === 1 ? 'it' : 'each'} may or may not have taken effect`,
      href,
      advice: 'Check what each has done, then acknowledge this problem.',
      actions: [action('List them', { href, command: `holdfast turns list --call-status unknown --tool ${tool}` })],
    };
  },
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
