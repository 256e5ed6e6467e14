// One rate limit as this worker sees it: what it holds of it, and what it asks for next. The limit itself is in the database
// (store/governor/claim-rates.ts).
import {
  costOf,
  perSecondOf,
  RATE_UNITS,
  type Amounts,
  type CallTokens,
  type RateLimit,
  type RateUnit,
} from '../../core/governor/rate-limit.ts';
import { noCalls, shareCalls, type LaneCounts } from '../../core/governor/share-calls.ts';
import type { RateAsk, RateShare } from '../../store/governor/claim-rates.ts';

/** While a limit is not scarce, a worker also claims this part of what is left, so that its next calls need not wait. */
const HEADROOM_SHARE = 0.05;

/** Differences of rounding. */
const TINY = 1e-6;

const SECOND = 1000;

export interface WaitingCost {
  lane: keyof LaneCounts;
  cost: Amounts;
}

export class RateWindow {
  readonly id: string;
  readonly limit: RateLimit;
  readonly #units: readonly RateUnit[];
  /** Claimed and not used; negative: used beyond the claimed amount. */
  readonly #held: Amounts = {};
  #left: { amounts: Amounts; atMs: number } | null = null;
  /** The remaining amounts that the provider reported; empty: it has reported none since the last statement. */
  #remaining: Amounts = {};
  #others: LaneCounts = noCalls();
  /** This worker's share of the refill. */
  #share = 1;
  /** Calls made since `#recentSinceMs`. */
  #recent: LaneCounts = noCalls();
  #recentSinceMs = 0;
  #perCall: Amounts = {};
  #isScarce = false;

  constructor(id: string, limit: RateLimit) {
    this.id = id;
    this.limit = limit;
    this.#units = RATE_UNITS.filter((unit) => limit.perMinute[unit] !== undefined);
  }

  /** True when more calls wait than the limit has room for. */
  get isScarce(): boolean {
    return this.#isScarce;
  }

  costOf(tokens: CallTokens): Amounts {
    return costOf(this.limit, tokens);
  }

  /** True when this worker holds enough for the call. One that is larger than the whole limit needs all of it. */
  covers(cost: Amounts): boolean {
    return this.#units.every((unit) => this.#heldOf(unit) + TINY >= this.#bounded(unit, cost));
  }

  spend(cost: Amounts, lane: keyof LaneCounts): void {
    for (const unit of this.#units) this.#held[unit] = this.#heldOf(unit) - (cost[unit] ?? 0);
    this.#recent = { ...this.#recent, [lane]: this.#recent[lane] + 1 };
    this.#perCall = cost;
  }

  /** A call has used `actual`, for which `expected` was spent. */
  settle(expected: Amounts, actual: Amounts): void {
    for (const unit of this.#units) this.#held[unit] = this.#heldOf(unit) + (expected[unit] ?? 0) - (actual[unit] ?? 0);
  }

  /** The provider has refused a call for its limit: nothing is left, and the first second after it refills at half the rate. */
  empty(): void {
    for (const unit of this.#units) this.#held[unit] = Math.min(0, this.#heldOf(unit));
    this.correct(Object.fromEntries(this.#units.map((unit) => [unit, -perSecondOf(this.limit, unit) / 2])));
  }

  /** The provider has reported what is left. */
  correct(remaining: Amounts): void {
    for (const unit of this.#units) {
      const said = remaining[unit];
      if (said !== undefined) this.#remaining[unit] = Math.min(this.#remaining[unit] ?? Infinity, said);
    }
  }

  /** True when there is nothing to ask for and nothing to return. */
  isIdle(): boolean {
    return (
      Object.values(this.#recent).every((calls) => calls === 0) &&
      this.#units.every((unit) => Math.abs(this.#heldOf(unit)) <= TINY)
    );
  }

  /** The amount to claim now. What is returned is no longer held, also when the statement fails. */
  ask(waiting: readonly WaitingCost[], nowMs: number): RateAsk {
    const demand = { ...this.#recent };
    for (const { lane } of waiting) demand[lane] += 1;
    const needed = this.#neededBy(waiting, demand, nowMs);
    const ask: RateAsk = {
      limitId: this.id,
      capacity: {},
      perSecond: {},
      wanted: {},
      owed: {},
      remaining: this.#remaining,
      demand,
    };
    this.#remaining = {};
    for (const unit of this.#units) {
      const held = this.#heldOf(unit);
      const wanted = (needed[unit] ?? 0) - Math.max(0, held);
      ask.capacity[unit] = this.#capacityOf(unit);
      ask.perSecond[unit] = perSecondOf(this.limit, unit);
      ask.owed[unit] = Math.max(0, -held);
      ask.wanted[unit] = wanted;
      this.#held[unit] = Math.max(0, held) + Math.min(0, wanted);
    }
    if (nowMs - this.#recentSinceMs >= SECOND) {
      this.#recent = noCalls();
      this.#recentSinceMs = nowMs;
    }
    return ask;
  }

  /** Adds what was claimed. */
  receive({ claimed, left, others }: RateShare, nowMs: number): void {
    for (const unit of this.#units) this.#held[unit] = this.#heldOf(unit) + Math.max(0, claimed[unit] ?? 0);
    this.#left = { amounts: left, atMs: nowMs };
    this.#others = others;
  }

  /** How long it takes until the worker has this much, in milliseconds. */
  waitMs(cost: Amounts, nowMs: number): number {
    const waits = this.#units.map((unit) => {
      const missing = this.#bounded(unit, cost) - this.#heldOf(unit) - this.#leftOf(unit, nowMs) * this.#share;
      return missing <= 0 ? 0 : (missing / Math.max(TINY, perSecondOf(this.limit, unit) * this.#share)) * SECOND;
    });
    return Math.max(0, ...waits);
  }

  /** How much of each unit the worker needs to hold. */
  #neededBy(waiting: readonly WaitingCost[], demand: LaneCounts, nowMs: number): Amounts {
    const needed = (unit: RateUnit) => waiting.reduce((total, { cost }) => total + this.#bounded(unit, cost), 0);
    const perCall = (unit: RateUnit) =>
      waiting.length > 0 ? needed(unit) / waiting.length : (this.#perCall[unit] ?? 0);
    const poolOf = (unit: RateUnit) => this.#leftOf(unit, nowMs) + perSecondOf(this.limit, unit);
    const pool = Math.min(...this.#units.map((unit) => poolOf(unit) / Math.max(TINY, perCall(unit))));
    const own = shareCalls({ pool, own: demand, others: this.#others });
    const total = countOf(demand) + countOf(this.#others);
    this.#isScarce = total > pool;
    this.#share = pool > 0 && this.#isScarce ? Math.max(own / pool, TINY) : 1;
    const recent = countOf(this.#recent);
    return Object.fromEntries(
      this.#units.map((unit) => {
        const held = Math.max(0, this.#heldOf(unit));
        if (this.#isScarce) return [unit, Math.min(needed(unit), held + own * perCall(unit))];
        const headroom = countOf(demand) === 0 ? 0 : HEADROOM_SHARE * this.#leftOf(unit, nowMs);
        return [unit, needed(unit) + recent * perCall(unit) + headroom];
      }),
    );
  }

  #heldOf(unit: RateUnit): number {
    return this.#held[unit] ?? 0;
  }

  #capacityOf(unit: RateUnit): number {
    return this.limit.perMinute[unit] ?? 0;
  }

  #bounded(unit: RateUnit, cost: Amounts): number {
    return Math.min(cost[unit] ?? 0, this.#capacityOf(unit));
  }

  /** The estimated remaining amount of the window; before the first answer it is assumed to be full. */
  #leftOf(unit: RateUnit, nowMs: number): number {
    const capacity = this.#capacityOf(unit);
    if (this.#left === null) return capacity;
    const { amounts, atMs } = this.#left;
    const refilled = ((nowMs - atMs) / SECOND) * perSecondOf(this.limit, unit);
    return Math.max(0, Math.min(capacity, (amounts[unit] ?? 0) + refilled));
  }
}

function countOf(counts: LaneCounts): number {
  return counts.main + counts.subagent + counts.cron + counts.batch;
}
