// Problems that need an operator, as text: the fault, where to look, and what to do next. Pure.
import { titleOfWorker } from '../../../core/words.ts';
import { failureStep } from '../../../core/failure.ts';
import { budgetName, type BudgetSettings } from '../../budgets/rules/budget.ts';
import {
  action,
  HEALTH_KINDS,
  RAISE_LIMIT,
  START_SCHEDULER,
  START_WORKER,
  withFix,
  wordsOfHealth,
  type HealthFact,
  type HealthWords,
  type TroubleWords,
} from './service-health.ts';

const OWN_KINDS = [
  'dependency',
  'dead_letters',
  'approval',
  'pairing',
  'channel_lost',
  'worker_silent',
  'lock_expired',
  'cron_missed',
  'cron_late',
  'model_blocked',
  'model_unpriced',
  'provider_batch_unknown',
  'provider_batch_old',
  'alerts_failing',
] as const;

export const ATTENTION_KINDS = [...OWN_KINDS, ...HEALTH_KINDS] as const;

/** A trouble as it is stored. */
export type AttentionFact = OwnFact | HealthFact;

/**
 * `name`: a dependency, an error code, a tool, a worker, a session key, the id of a cron or a
 * submission, a channel or its account, a model or an alert destination.
 */
interface OwnFact extends Omit<HealthFact, 'kind'> {
  kind: (typeof OWN_KINDS)[number];
  /** Its name for people; null or absent: `name` is one. */
  title?: string | null;
}

export interface AttentionItem extends HealthWords {
  kind: AttentionFact['kind'] | 'budget';
  count: number;
  since: string | null;
}

/** What an operator has decided about an item. */
export interface AttentionMark {
  by: string;
  at: string;
  /** Null: acknowledged. */
  until: string | null;
  /** The count of the item at that time. */
  count: number;
  reason: string | null;
  /**
   * False: a snooze has ended, or an acknowledgement is so old that nothing is known of what it
   * belonged to.
   */
  holds: boolean;
}

export const ATTENTION_STATES = ['open', 'acknowledged', 'snoozed'] as const;

/**
 * Whether a mark holds for an item. A snooze holds until its time. An acknowledgement holds for
 * what had begun before it, so a problem that ended and has come back is open again, and so are
 * dead letters, approvals and pairings when there are more of them.
 */
export function attentionState(
  { kind, count, since }: Pick<AttentionItem, 'kind' | 'count' | 'since'>,
  mark: AttentionMark | undefined,
): (typeof ATTENTION_STATES)[number] {
  if (mark?.holds !== true) return 'open';
  if (mark.until !== null) return 'snoozed';
  const isNew = since !== null && since > mark.at;
  const isMore = REOPENED_KINDS.includes(kind) && count > mark.count;
  return isNew || isMore ? 'open' : 'acknowledged';
}

type Kind = AttentionItem['kind'];

const REOPENED_KINDS: readonly Kind[] = ['dead_letters', 'approval', 'pairing'];

/** Whether a problem has become more than what a person who decides about it was shown. */
export function isMoreThanShown({ kind, count }: Pick<AttentionItem, 'kind' | 'count'>, shown: number): boolean {
  return (kind === 'calls_unknown' || REOPENED_KINDS.includes(kind)) && count > shown;
}

/** What stands first is what keeps most from working. */
export const KINDS_BY_WEIGHT: readonly (readonly Kind[])[] = [
  ['dependency'],
  ['no_worker', 'worker_silent', 'lock_expired', 'reconciler_stalled', 'files_hang'],
  ['model_away', 'model_wrong_address', 'model_limited', 'model_blocked'],
  ['queue_unreachable', 'no_scheduler', 'cron_late', 'paused', 'events_held'],
  ['budget_reached', 'budget'],
  ['channel_lost', 'outbox_stalled', 'deliveries_failing', 'alerts_failing'],
  ['mcp_lost', 'calls_unknown', 'provider_batch_unknown'],
  ['dead_letters', 'approval', 'pairing', 'cron_missed'],
  ['provider_batch_old', 'model_unpriced', 'mcp_unconfined', 'versions_differ', 'clock_off'],
];

const WEIGHTS = new Map(KINDS_BY_WEIGHT.flatMap((kinds, place) => kinds.map((kind) => [kind, place] as const)));

type Ranked = Pick<AttentionItem, 'kind' | 'since'> & { state: (typeof ATTENTION_STATES)[number] };

/**
 * Their order: open ones first, then by their consequence, then by age, the oldest first; those
 * whose age is not known stand last.
 */
export function compareAttention(one: Ranked, other: Ranked): number {
  const byWeight = weigh(one) - weigh(other);
  if (byWeight !== 0 || one.since === other.since) return byWeight;
  return one.since === null || (other.since !== null && one.since > other.since) ? 1 : -1;
}

function weigh({ state, kind }: Ranked): number {
  return (state === 'open' ? 0 : KINDS_BY_WEIGHT.length) + (WEIGHTS.get(kind) ?? KINDS_BY_WEIGHT.length - 1);
}

const ofAny = (): string => '';
const ofName = (name: string): string => name;
/** The provider of a model. */
const ofOwner = (name: string): string => name.split('/', 1)[0] ?? '';

/** Troubles that others explain, if both are of the same. */
const EXPLAINED: Partial<Record<Kind, { by: readonly Kind[]; of: (name: string) => string }>> = {
  dependency: { by: ['queue_unreachable'], of: ofName },
  model_limited: { by: ['model_away', 'model_wrong_address'], of: ofName },
  model_blocked: { by: ['model_away', 'model_wrong_address', 'model_limited'], of: ofOwner },
  cron_late: { by: ['no_scheduler'], of: ofAny },
  budget: { by: ['budget_reached'], of: ofName },
  deliveries_failing: { by: ['channel_lost'], of: ofName },
};

export type Named = Pick<AttentionFact, 'name'> & { kind: Kind };

/**
 * Whether another trouble is the cause of one, or shows more of what follows from the same cause. A
 * cause that a person has acknowledged or snoozed explains nothing: its effects would be seen by no
 * one.
 */
export function isExplained(one: Named, all: readonly (Named & Pick<Ranked, 'state'>)[]): boolean {
  const rule = EXPLAINED[one.kind];
  return (
    rule !== undefined &&
    all.some(
      ({ kind, name, state }) => state === 'open' && rule.by.includes(kind) && rule.of(name) === rule.of(one.name),
    )
  );
}

/**
 * The kind and the subject of a trouble, as one text. The amount by which a clock is off changes
 * all the time.
 */
export function formatSubject({ kind, name }: Pick<AttentionFact, 'kind' | 'name'>): string {
  return kind === 'clock_off' ? kind : `${kind} ${name}`;
}

export function attentionItem(fact: AttentionFact): AttentionItem {
  const { kind, count, since } = fact;
  return { kind, count, since, ...wordsOf(fact) };
}

function wordsOf(fact: AttentionFact): HealthWords {
  if (isHealth(fact)) return wordsOfHealth(fact);
  return withFix(WORDS[fact.kind](fact.name, fact.count, fact.title ?? fact.name), fact.detail);
}

function isHealth(fact: AttentionFact): fact is HealthFact {
  return (HEALTH_KINDS as readonly string[]).includes(fact.kind);
}

/** What to do about a dependency of a process that is away while the database answers. */
const DEPENDENCY_FIXES: Readonly<Record<string, string>> = {
  storage: 'Free space on the disk of the database, or repair the disk; the service then continues without a restart.',
  layout: 'Run "holdfast migrate" with the version that runs.',
  queue: 'Start the server of the queue again: that of REDIS_URL, or the database if REDIS_URL is not set.',
};

const WORDS: Readonly<Record<OwnFact['kind'], (name: string, count: number, title: string) => TroubleWords>> = {
  dependency: (name) => ({
    severity: 'error',
    text: `The process that answers this cannot use the ${name}`,
    href: '/processes',
    advice: DEPENDENCY_FIXES[name] ?? 'Find out why.',
    actions: [action('Check all dependencies', { command: 'holdfast doctor' })],
  }),
  dead_letters: (name, count) => {
    const href = `/dead-letters?code=${encodeURIComponent(name)}`;
    return {
      severity: 'error',
      text: `${counted(count, 'dead letter')} with the code ${name}`,
      href,
      advice: failureStep(name) ?? 'Correct the cause, then redrive them.',
      actions: [action('Redrive all of them', { href, command: `holdfast dead redrive ${name}` })],
    };
  },
  approval: (name, count) => ({
    severity: 'warning',
    text: `${counted(count, 'call')} of ${name} wait${count === 1 ? 's' : ''} for an approval`,
    href: '/approvals',
    advice: 'Approve or deny what would run. A call about which no person decides is denied when its time is over.',
    actions: [action('Decide about them', { href: '/approvals', command: 'holdfast approvals list' })],
  }),
  pairing: (name, count) => ({
    severity: 'warning',
    text: `${count === 1 ? '1 person asks' : `${count} people ask`} to write to the bot ${name}`,
    href: '/channels',
    advice: 'Approve or deny each of them by the code, which is valid for an hour.',
    actions: [action('Decide about them', { href: '/channels', command: 'holdfast pairing list' })],
  }),
  channel_lost: (name) => ({
    severity: 'error',
    text: `The platform of the bot ${name} is not reached`,
    href: '/channels',
    advice: 'What is to be sent waits until it is.',
    actions: [
      action('Find out why', { href: '/channels', command: `holdfast channels test ${name.replace('/', ' ')}` }),
    ],
  }),
  worker_silent: (name) => ({
    severity: 'error',
    text: `The worker ${titleOfWorker(name)} has missed three reports; its turns wait until another worker claims them`,
    href: '/processes',
    advice: 'Read the end of its log, and restart it if its supervisor has not restarted it.',
    actions: [START_WORKER],
  }),
  lock_expired: (name, _count, title) => ({
    severity: 'error',
    text: `The lease of the session “${title}” has expired, and no worker has taken it over`,
    href: `/sessions/${encodeURIComponent(name)}`,
    advice: 'Start a worker that serves its lane.',
    actions: [START_WORKER],
  }),
  cron_missed: (name, count, title) => ({
    severity: 'warning',
    text: `The cron “${title}” missed ${counted(count, 'slot')} within a day`,
    href: `/crons/${name}`,
    advice: 'Run it now if the slots are needed.',
    actions: [action('Run it', { href: `/crons/${name}`, command: `holdfast cron run ${name}` })],
  }),
  cron_late: (name, _count, title) => ({
    severity: 'error',
    text: `The cron “${title}” is due and has not fired for 5 minutes`,
    href: `/crons/${name}`,
    advice: 'Start a process with the scheduler role.',
    actions: [START_SCHEDULER],
  }),
  model_blocked: (name) => ({
    severity: 'warning',
    text: `No worker calls ${name} for a time: its provider has asked for that, or it does not answer`,
    href: '/waiting',
    advice: 'Wait, or set models.limits below the limits of the provider.',
    actions: [action('Call it now', { href: '/waiting', command: `holdfast models unblock ${name}` })],
  }),
  model_unpriced: (name, count) => ({
    severity: 'warning',
    text: `${counted(count, 'call')} of ${name} within a day have no price, so their cost is not known`,
    href: '/costs',
    advice: 'Add the model to models.prices.',
    actions: [action('Then compute the costs', { command: 'holdfast prices reprice' })],
  }),
  provider_batch_unknown: (name, count) => ({
    severity: 'error',
    text: `It is not known whether the provider accepted a submission of ${counted(count, 'request')}; Holdfast searches for it`,
    href: '/batches',
    advice: `If this persists: POST /v1/provider-batches/${name}/forget`,
    actions: [],
  }),
  provider_batch_old: (name, count) => ({
    severity: 'warning',
    text: `A submission of ${counted(count, 'request')} has been at the provider for more than 20 hours`,
    href: '/batches',
    advice: `Its requests expire after 24 hours. To make live calls instead, cancel the batch at the provider, or POST /v1/provider-batches/${name}/forget`,
    actions: [],
  }),
  alerts_failing: (name) => ({
    severity: 'warning',
    text: `The alert destination ${name} does not acknowledge what it is sent`,
    href: '/settings?tab=alerts',
    advice: 'Correct the receiver or its address.',
    actions: [action('Then test it', { href: '/settings?tab=alerts', command: `holdfast alerts test ${name}` })],
  }),
};

interface UsedBudget extends Pick<BudgetSettings, 'scope' | 'per' | 'limitMicros' | 'warnPercent'> {
  spentMicros: number;
  reservedMicros: number;
  isReached: boolean;
}

export function computeUsedPercent({ limitMicros, spentMicros, reservedMicros }: UsedBudget): number {
  return limitMicros === 0 ? 100 : (100 * (spentMicros + reservedMicros)) / limitMicros;
}

/** The item of a budget that is nearly used up; null: it is not. */
export function budgetItem(budget: UsedBudget): AttentionItem | null {
  const percent = computeUsedPercent(budget);
  if (percent < budget.warnPercent && !budget.isReached) return null;
  const isFull = budget.isReached || percent >= 100;
  const words = withFix(
    {
      severity: isFull ? 'error' : 'warning',
      text: `${Math.floor(percent)} % of the budget ${budgetName(budget)} is used${isFull ? '; the next turns wait for it, or fail' : ''}`,
      href: '/costs#budgets',
      advice: 'Wait for its next window, or raise its limit.',
      actions: [RAISE_LIMIT],
    },
    null,
  );
  // Nothing waits for it yet: the trouble of the turns that do has their time.
  return { kind: 'budget', count: 1, since: null, ...words };
}

function counted(count: number, one: string): string {
  return `${count.toLocaleString('en-US')} ${one}${count === 1 ? '' : 's'}`;
}
