// Which problems a destination hears of, and in which words. Pure.
import { parseChannelUrl } from '../../core/channel-address.ts';

export const ALERT_SEVERITIES = ['error', 'warning'] as const;
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/**
 * How often an unacknowledged call is sent before it is given up: the fifth attempt follows 13
 * minutes after the first.
 */
const ATTEMPTS_MAX = 5;
/** A destination rests this long after a call was given up, in milliseconds. */
const REST_MS = 3_600_000;
/** The most problems that a call names. */
const NAMED_MAX = 50;
/**
 * A problem has ended when it has not been there for this time, in milliseconds: one that comes and
 * goes is one problem.
 */
const ENDED_AFTER_MS = 120_000;
/** A problem that is there this many times as often as when it was sent is sent again. */
const GROWTH = 10;

/** What needs attention, as the API lists it. */
export interface AlertProblem {
  id: string;
  kind: string;
  severity: AlertSeverity;
  /** How often it is there. */
  count: number;
  text: string;
  fix: string;
  href: string;
  since: string | null;
  state: 'open' | 'acknowledged' | 'snoozed';
}

/** What a destination was sent about a problem. */
export interface KnownAlert {
  problemId: string;
  /** Null, as `count`: a version that does not store it has sent the alert. */
  kind: string | null;
  severity: AlertSeverity;
  count: number | null;
  text: string;
  href: string;
  alertedMs: number;
  /** Since when it has not been there, or has been less severe; null: it lasts. */
  endedMs: number | null;
}

/** What needs attention, as it was read at a time of the database. */
export interface AttentionReading {
  problems: readonly AlertProblem[];
  /** Those that are not among them only because one of them is their cause. */
  explained: readonly Pick<AlertProblem, 'id'>[];
  /** Kinds of which there may be more than was read. */
  cutKinds: ReadonlySet<string>;
  atMs: number;
}

export interface AlertFilter {
  severity: AlertSeverity;
  kinds: readonly string[] | null;
  repeatSeconds: number;
}

export interface AlertPlan {
  /**
   * Problems to be sent: they are new, worse than when they were sent, or have lasted for the time
   * of a repetition.
   */
  begun: AlertProblem[];
  /**
   * Problems that were sent and have ended. Nothing needs to be known of them any more, so one that
   * comes back is new.
   */
  ended: KnownAlert[];
  /** What is known has changed in this way, which is not sent. */
  changed: KnownAlert[];
}

/**
 * Decides what a destination is sent now. What an operator has acknowledged or snoozed is not sent;
 * its end is, if its beginning was.
 */
export function planAlerts(
  filter: AlertFilter,
  { problems, explained, cutKinds, atMs }: AttentionReading,
  sent: readonly KnownAlert[],
): AlertPlan {
  const known = new Map(sent.map((alert) => [alert.problemId, alert]));
  const there = new Map(problems.map((problem) => [problem.id, problem]));
  const explainedIds = new Set(explained.map(({ id }) => id));
  const isNew = (problem: AlertProblem, before: KnownAlert | undefined): boolean =>
    before === undefined || isWorse(problem, before) || atMs - before.alertedMs >= filter.repeatSeconds * 1_000;
  const begun = problems.filter(
    (problem) => problem.state === 'open' && isChosen(filter, problem) && isNew(problem, known.get(problem.id)),
  );
  const plan: AlertPlan = { begun, ended: [], changed: [] };
  for (const alert of sent) {
    const problem = there.get(alert.problemId);
    const isThere =
      problem === undefined ? explainedIds.has(alert.problemId) || mayBeCut(alert, cutKinds) : !isWorse(alert, problem);
    if (isThere) {
      if (alert.endedMs !== null) plan.changed.push({ ...alert, endedMs: null });
    } else if (alert.endedMs === null) plan.changed.push({ ...alert, endedMs: atMs });
    else if (atMs - alert.endedMs >= ENDED_AFTER_MS) {
      if (problem === undefined || !isChosen(filter, problem)) plan.ended.push(alert);
      else plan.changed.push({ ...alert, severity: problem.severity, count: problem.count, endedMs: null });
    }
  }
  return plan;
}

/** Whether a problem that was not read may be there. */
function mayBeCut({ kind }: KnownAlert, cutKinds: ReadonlySet<string>): boolean {
  return kind === null ? cutKinds.size > 0 : cutKinds.has(kind);
}

type Weight = Pick<KnownAlert, 'severity' | 'count'>;

/** Whether one is worse than the other by so much that it counts as another problem. */
function isWorse(one: Weight, other: Weight): boolean {
  if (one.severity !== other.severity) return one.severity === 'error';
  return one.count !== null && other.count !== null && one.count >= GROWTH * Math.max(1, other.count);
}

function isChosen({ severity, kinds }: AlertFilter, problem: AlertProblem): boolean {
  return (severity === 'warning' || problem.severity === 'error') && (kinds?.includes(problem.kind) ?? true);
}

/** The body of a call, but for its id. */
export interface AlertCall {
  type: 'alert';
  isTest: boolean;
  text: string;
  problems: Omit<AlertProblem, 'state'>[];
  ended: { id: string; severity: AlertSeverity; text: string; href: string }[];
  /** Further problems that began or ended, which the next call names. */
  moreCount: number;
}

/** One call about all of it; null: there is nothing to say. */
export function buildCall({ begun, ended }: Pick<AlertPlan, 'begun' | 'ended'>): AlertCall | null {
  if (begun.length + ended.length === 0) return null;
  const problems = begun.slice(0, NAMED_MAX).map(({ id, kind, severity, count, text, fix, href, since }) => ({
    id,
    kind,
    severity,
    count,
    text,
    fix,
    href,
    since,
  }));
  const endedNamed = ended
    .slice(0, NAMED_MAX)
    .map(({ problemId, severity, text, href }) => ({ id: problemId, severity, text, href }));
  const moreCount = begun.length + ended.length - problems.length - endedNamed.length;
  const lines = [
    ...problems.map(({ severity, text, fix }) => `${severity}: ${text}. ${fix}`),
    ...endedNamed.map(({ text }) => `ended: ${text}`),
    ...(moreCount > 0 ? [`and ${moreCount} more in the next alert: GET /v1/attention`] : []),
  ];
  return { type: 'alert', isTest: false, text: lines.join('\n'), problems, ended: endedNamed, moreCount };
}

/** The text of a call in a chat: a paragraph for each problem. */
export function chatText({ text }: Pick<AlertCall, 'text'>): string {
  return text.replaceAll('\n', '\n\n');
}

export function buildTestCall(name: string): AlertCall {
  const text = `This is a test of the alert destination ${name} of Holdfast.`;
  return { type: 'alert', isTest: true, text, problems: [], ended: [], moreCount: 0 };
}

/**
 * Whether a call is over, and how long the destination waits before its next one. A refusal may be
 * passing, such as 404 while a receiver starts.
 */
export function judgeAttempt(
  isSent: boolean,
  { attempts, delayMs }: { attempts: number; delayMs: number },
): { isOver: boolean; waitMs: number } {
  if (isSent) return { isOver: true, waitMs: 0 };
  return attempts < ATTEMPTS_MAX ? { isOver: false, waitMs: delayMs } : { isOver: true, waitMs: REST_MS };
}

/** The address as it is shown: the rest of the address of a webhook often is a secret. */
export function shownUrl(url: string): string {
  if (parseChannelUrl(url) !== null) return url;
  const { origin, pathname, search } = new URL(url);
  return pathname.length + search.length > 1 ? `${origin}/…` : origin;
}
