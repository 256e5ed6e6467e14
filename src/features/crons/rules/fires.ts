// From a due slot to the end of its run: a plan says which due slots of a cron fire, a decision
// says what each puts into its session, and the end of a run says when the cron fires again.
import type { MisfirePolicy } from '../config.ts';
import type { TickInput } from './cron.ts';
import { MINUTE_MS, SECOND_MS } from '../../../core/time.ts';
import { nextSlot, type Timetable } from './timetable.ts';
import type { MessageId, SessionId } from '../../../core/ids.ts';

// The plan: the due slots of a cron are fired, or skipped by the policy, each with its reason.
// Every slot gets exactly one result, and the next slot follows from the last, however late a
// scheduler checks (G20).
//
// A slot is *missed* when a later one is due, too: no scheduler checked in between. What the
// policies do about missed slots:
//   run_once   the latest slot fires, for all of them
//   run_all    the latest `maxCatchUp` slots fire, in order
//   skip       only the latest fires, and only when it is not too late for it

/**
 * `backoff`: the cron failed and was paused. `superseded`: a later slot fired for it. `late`: the
 * policy makes up for nothing. `budget_reached`: the budget had no room.
 */
export type PassedReason = 'backoff' | 'superseded' | 'late' | 'budget_reached';

/**
 * The result of a slot. `count`: the number of slots from this one on that share one row; otherwise
 * 1.
 */
export type Tick =
  | { kind: 'fire'; slotMs: number }
  | { kind: 'missed' | 'skipped'; slotMs: number; reason: PassedReason; count: number };

export interface TickPlan {
  /** Oldest first. */
  ticks: Tick[];
  /** The first slot without a fate; null: there will be none. */
  nextSlotMs: number | null;
  /** True when more slots are due than one plan takes: plan again immediately. */
  hasMore: boolean;
}

export interface DueCron {
  timetable: Timetable;
  /** The first slot without a fate. */
  slotMs: number;
  /** How long after their time slots are due, see `computeStagger`. */
  staggerMs: number;
  /** Slots before it are passed over: the cron failed; null: none. */
  notBeforeMs: number | null;
  policy: MisfirePolicy;
  /** The most slots that are made up for, at least 1. */
  maxCatchUp: number;
  nowMs: number;
}

/** How late a slot may fire under the policy `skip`. */
const LATE_MS = MINUTE_MS;
/** The largest number of slots in one plan. */
const SLOTS_MAX = 5_000;
/** More slots than this that are skipped for the same reason share one row, with their number. */
const ROWS_MAX = 1_000;

/** Plans the slots that are due. No tick when none is. */
export function planTicks(due: DueCron): TickPlan {
  const slots: number[] = [];
  let next: number | null = due.slotMs;
  while (next !== null && next + due.staggerMs <= due.nowMs && slots.length < SLOTS_MAX) {
    slots.push(next);
    next = nextSlot(due.timetable, next);
  }
  const hasMore = next !== null && next + due.staggerMs <= due.nowMs;
  const { notBeforeMs } = due;
  const resting = notBeforeMs === null ? [] : slots.filter((slotMs) => slotMs < notBeforeMs);
  const open = slots.slice(resting.length);
  // When more is due, the latest slot is not among these: all of them are missed.
  const fired = hasMore ? [] : selectFired(open, due);
  const passed = open.slice(0, open.length - fired.length);
  return {
    ticks: [
      ...passedTicks(resting, 'skipped', 'backoff'),
      ...passedTicks(
        passed,
        due.policy === 'skip' ? 'skipped' : 'missed',
        due.policy === 'skip' ? 'late' : 'superseded',
      ),
      ...fired.map((slotMs): Tick => ({ kind: 'fire', slotMs })),
    ],
    nextSlotMs: next,
    hasMore,
  };
}

function selectFired(slots: readonly number[], { policy, maxCatchUp, nowMs, staggerMs }: DueCron): number[] {
  const latest = slots.at(-1);
  if (latest === undefined) return [];
  switch (policy) {
    case 'run_once':
      return [latest];
    case 'run_all':
      return slots.slice(-Math.max(1, maxCatchUp));
    case 'skip':
      return latest + staggerMs >= nowMs - LATE_MS ? [latest] : [];
    default:
      return policy satisfies never;
  }
}

function passedTicks(slots: readonly number[], kind: 'missed' | 'skipped', reason: PassedReason): Tick[] {
  const [first] = slots;
  if (first !== undefined && slots.length > ROWS_MAX) return [{ kind, slotMs: first, reason, count: slots.length }];
  return slots.map((slotMs) => ({ kind, slotMs, reason, count: 1 }));
}

// The decision, made while the crons and their sessions are locked: fires, with the inputs and
// events that they cause.

/** The input of a tick, with the session that it goes to. */
export interface TickEffect extends Omit<TickInput, 'body'> {
  sessionId: SessionId;
  /** The body of the input, as JSON text. */
  body: string;
  /** The most messages that may wait in the session. */
  waitingMax: number;
}

/** The plan for the due slots of one cron. */
export interface Firing extends TickEffect {
  cronId: string;
  /** What the plan was made from: the cron's revision and the first slot without a result. */
  revision: number;
  firstSlotMs: number;
  /** Oldest first. `messageId`: of the input that a slot causes if it fires. */
  ticks: { tick: Tick; messageId: MessageId }[];
  /** Null: nothing follows. */
  nextSlotMs: number | null;
  dueMs: number | null;
  /** Set: the cron is switched off for this reason. */
  disabledReason: string | null;
}

/** A cron that is locked, with its session. */
export interface HeldCron {
  cronId: string;
  name: string;
  waiting: number;
  lastEventText: string | null;
}

/** A row of `cron_fires`. */
export interface Fire {
  cronId: string;
  slotMs: number;
  status: 'claimed' | 'completed' | 'missed' | 'skipped';
  /** The input that it waits for; null: it waits for none. */
  messageId: MessageId | null;
  reason: string | null;
  /** How many slots share the row. */
  slots: number;
  isFired: boolean;
}

/**
 * A fire with what its session gets: an input if it has a `messageId`, and a line of text if it
 * leaves one.
 */
export interface DecidedFire extends Fire {
  effect: TickEffect;
  cronName: string;
  leavesLine: boolean;
}

/** Why a slot that was to fire did not: the inbox of its session is full. */
const INBOX_FULL = 'inbox_full';

/** Why a slot that fired left no line: the same one waits already, or a later slot left it. */
const DUPLICATE = 'duplicate';

/** The name of a slot: a slot has at most one fire, and its input this cause. */
export const formatSlot = (cronId: string, slotMs: number): string => `cron:${cronId}:${(slotMs / 1000).toFixed(6)}`;

/**
 * Decides about plans, in their order. `held` has their crons, which several of them may share a
 * session with; `known` the slots that have a fire already, such as a run on request in the same
 * millisecond: they stay as they are.
 */
export function decideFires(
  firings: readonly Firing[],
  held: ReadonlyMap<string, HeldCron>,
  known: ReadonlySet<string>,
): DecidedFire[] {
  // What each session will have after the firings before.
  const sessions = new Map<SessionId, Pick<HeldCron, 'waiting' | 'lastEventText'>>();
  return firings.flatMap((firing) => {
    // Only plans whose crons are held are decided.
    const { name, waiting, lastEventText } = held.get(firing.cronId)!;
    const session = sessions.get(firing.sessionId) ?? { waiting, lastEventText };
    sessions.set(firing.sessionId, session);
    const latest = firing.ticks.findLast(({ tick }) => tick.kind === 'fire');
    return firing.ticks.flatMap((planned): DecidedFire[] => {
      const { tick, messageId } = planned;
      if (known.has(formatSlot(firing.cronId, tick.slotMs))) return [];
      const fire = { cronId: firing.cronId, slotMs: tick.slotMs, effect: firing, cronName: name };
      if (tick.kind !== 'fire') {
        const { kind: status, reason, count: slots } = tick;
        return [{ ...fire, status, reason, slots, messageId: null, isFired: false, leavesLine: false }];
      }
      const hasRoom = session.waiting < firing.waitingMax;
      const isNew = firing.event === null || (planned === latest && session.lastEventText !== firing.event.text);
      const hasInput = firing.kind !== null && hasRoom && isNew;
      if (hasInput) session.waiting += 1;
      const one = {
        ...fire,
        slots: 1,
        messageId: hasInput ? messageId : null,
        leavesLine: firing.event !== null && isNew,
      };
      if (firing.event === null && !hasRoom) return [{ ...one, status: 'skipped', reason: INBOX_FULL, isFired: false }];
      if (isNew && firing.event !== null) session.lastEventText = firing.event.text;
      return [{ ...one, status: hasInput ? 'claimed' : 'completed', reason: isNew ? null : DUPLICATE, isFired: true }];
    });
  });
}

// After a run: how long a cron waits after it failed, and when it is disabled.

const RESTS_MS = [30 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 60 * MINUTE_MS];

/** After this many consecutive failures a cron is disabled, with a notice. */
const FAILURES_IN_A_ROW_MAX = 10;
/** How often a one-time cron is tried again when its failure is temporary. */
const ONE_SHOT_RETRIES_MAX = 3;

/** Failures that a later run may not have. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  'model_rate_limited',
  'model_overloaded',
  'model_unavailable',
  'model_timeout',
  'model_network',
  'model_wrong_address',
  'model_cut_stream',
  'turn_timeout',
]);

/**
 * How long to pause after this many consecutive failures, at least 1: 30 s, 1 m, 5 m, 15 m, then 60
 * m.
 */
export function failurePauseMs(failures: number): number {
  return RESTS_MS[Math.min(failures, RESTS_MS.length) - 1] ?? 0;
}

/** Why a cron that has done its work is disabled. */
export const DONE = 'done';

/** The changes of a cron after a run of it. Null values change nothing. */
export interface CronRunEffect {
  failures: number;
  /** Slots before it are passed over. */
  notBeforeMs: number | null;
  /** A slot outside the schedule: the next attempt of a one-time schedule. */
  retrySlotMs: number | null;
  /** Set: it is disabled, for this reason. Its owner is notified, unless it is done. */
  disabledReason: string | null;
}

/** `cancelled`: a person stopped it, which says nothing about the cron. */
export type CronRunResult = { kind: 'ok' } | { kind: 'cancelled' } | { kind: 'failed'; code: string; message: string };

export interface RunCron {
  isOneShot: boolean;
  /** True when it is deleted after a successful run. */
  isDeletedAfterRun: boolean;
  /** Failed runs in a row, before this one. */
  failures: number;
  /** True for a run on request: it does not change the schedule. */
  isManual: boolean;
  /** True when the cron was changed since it fired: the run says nothing about what it is now. */
  isChanged: boolean;
}

export function decideCronRunEffect(end: CronRunResult, cron: RunCron, nowMs: number): CronRunEffect {
  const quiet: CronRunEffect = {
    failures: cron.failures,
    notBeforeMs: null,
    retrySlotMs: null,
    disabledReason: null,
  };
  if (cron.isManual || cron.isChanged || end.kind === 'cancelled') return quiet;
  if (end.kind === 'ok') return { ...quiet, failures: 0, disabledReason: cron.isDeletedAfterRun ? DONE : null };
  const failures = cron.failures + 1;
  const restedMs = nowMs + failurePauseMs(failures);
  if (cron.isOneShot) {
    const mayRetry = PASSING_CODES.has(end.code) && failures <= ONE_SHOT_RETRIES_MAX;
    if (mayRetry) return { ...quiet, failures, retrySlotMs: restedMs };
    return { ...quiet, failures, disabledReason: `failed: ${end.message}` };
  }
  if (failures < FAILURES_IN_A_ROW_MAX) return { ...quiet, failures, notBeforeMs: restedMs };
  const disabledReason = `failed ${failures} times in a row; the last time: ${end.message}`;
  return { ...quiet, failures, disabledReason };
}
