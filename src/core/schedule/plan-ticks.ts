// Decides what happens to the due slots of a cron: fired, or skipped by the policy, each with its reason. Every slot gets
// exactly one result, and the next slot follows from the last, however late a scheduler checks (G20).
//
// A slot is *missed* when a later one is due, too: no scheduler checked in between. What the policies do about missed slots:
//   run_once   the latest slot fires, for all of them
//   run_all    the latest `maxCatchUp` slots fire, in order
//   skip       only the latest fires, and only when it is not too late for it
import { MINUTE_MS } from '../time.ts';
import { nextSlot, type Timetable } from './timetable.ts';

export type MisfirePolicy = 'run_once' | 'run_all' | 'skip';

/** `backoff`: the cron failed and was paused. `superseded`: a later slot fired for it. `late`: the policy makes up for nothing. `budget_reached`: the budget had no room. */
export type PassedReason = 'backoff' | 'superseded' | 'late' | 'budget_reached';

/** The result of a slot. `count`: the number of slots from this one on that share one row; otherwise 1. */
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
