// One rate limit as this worker sees it: what it holds of it, and what it asks for next. The limit
// itself is in the database (features/limits/claim-rates.ts).
import { toCost, toPerSecond, type Amounts, type CallTokens, type RateLimit } from '../../core/rate-limit.ts';
import { countCalls, noCalls, shareCalls, type LaneCounts } from './rules/share-calls.ts';
import type { RateAsk, RateShare } from './claim-rates.ts';

/**
 * While a limit is not scarce, a worker also claims this part of what is left, so that its next
 * calls need not wait.
 */
const HEADROOM_SHARE = 0.05;

/** Differences of rounding. */
const TINY = 1e-6;

const SECOND = 1000;

export interface WaitingCost {
  lane: keyof LaneCounts;
  cost: number;
}

export class RateWindow {
  readonly limitId: string;
  readonly limit: RateLimit;
  readonly #perSecond: number;
  /** Claimed and not used; negative: used beyond the claimed amount. */
  #held = 0;
  /** What the window had, and when; before the first answer it is assumed to be full. */
  #left: { amount: number; atMs: number };
  /** The remaining amount that the provider reported since the last statement; null: it has not. */
  #remaining: number | null = null;
  #others: LaneCounts = noCalls();
  /** This worker's share of the refill. */
  #share = 1;
  /** Calls made since `#recentSinceMs`. */
  #recent: LaneCounts = noCalls();
  #recentSinceMs = 0;
  #perCall = 0;
  #isScarce = false;

  constructor(limitId: string, limit: RateLimit) {
    this.limitId = limitId;
    this.limit = limit;
    this.#perSecond = toPerSecond(limit);
    this.#left = { amount: limit.perMinute, atMs: 0 };
  }

  /** True when more calls wait than the limit has room for. */
  get isScarce(): boolean {
    return this.#isScarce;
  }

  costOf(tokens: CallTokens): number {
    return toCost(this.limit, tokens);
  }

  /**
   * True when this worker holds enough for the call. One that is larger than the whole limit needs
   * all of it.
   */
  covers(cost: number): boolean {
    return this.#held + TINY >= this.#bounded(cost);
  }

  spend(cost: number, lane: keyof LaneCounts): void {
    this.#held -= cost;
    this.#recent = { ...this.#recent, [lane]: this.#recent[lane] + 1 };
    this.#perCall = cost;
  }

  /** What was spent for a call is not used: it was not made. */
  giveBack(cost: number, lane: keyof LaneCounts): void {
    this.#held += cost;
    this.#recent = { ...this.#recent, [lane]: Math.max(0, this.#recent[lane] - 1) };
  }

  /** A call has used `actual`, for which `expected` was spent. */
  settle(expected: number, actual: number): void {
    this.#held += expected - actual;
  }

  /**
   * The provider has refused a call for its limit: nothing is left, and the first second after it
   * refills at half the rate.
   */
  empty(): void {
    this.#held = Math.min(0, this.#held);
    this.correct({ [this.limit.unit]: -this.#perSecond / 2 });
  }

  /** The provider has reported what is left. */
  correct(remaining: Amounts): void {
    const reported = remaining[this.limit.unit];
    if (reported !== undefined) this.#remaining = Math.min(this.#remaining ?? Infinity, reported);
  }

  /** True when there is nothing to ask for and nothing to return. */
  isIdle(): boolean {
    return countCalls(this.#recent) === 0 && Math.abs(this.#held) <= TINY;
  }

  /** The amount to claim now. What is returned is no longer held, also when the statement fails. */
  ask(waiting: readonly WaitingCost[], nowMs: number): RateAsk {
    const demand = { ...this.#recent };
    for (const { lane } of waiting) demand[lane] += 1;
    const held = Math.max(0, this.#held);
    const wanted = this.#neededBy(waiting, demand, nowMs) - held;
    const ask: RateAsk = {
      limitId: this.limitId,
      unit: this.limit.unit,
      capacity: this.limit.perMinute,
      perSecond: this.#perSecond,
      wanted,
      owed: Math.max(0, -this.#held),
      remaining: this.#remaining,
      demand,
    };
    this.#remaining = null;
    this.#held = held + Math.min(0, wanted);
    if (nowMs - this.#recentSinceMs >= SECOND) {
      this.#recent = noCalls();
      this.#recentSinceMs = nowMs;
    }
    return ask;
  }

  /** Adds what was claimed. */
  receive({ claimed, left, main, subagent, cron, batch }: RateShare, nowMs: number): void {
    this.#held += Math.max(0, claimed);
    this.#left = { amount: left, atMs: nowMs };
    this.#others = { main, subagent, cron, batch };
  }

  /** How long it takes until the worker has this much, in milliseconds. */
  waitMs(cost: number, nowMs: number): number {
    const missing = this.#bounded(cost) - this.#held - this.#leftAt(nowMs) * this.#share;
    return missing <= 0 ? 0 : (missing / Math.max(TINY, this.#perSecond * this.#share)) * SECOND;
  }

  /** How much the worker needs to hold. */
  #neededBy(waiting: readonly WaitingCost[], demand: LaneCounts, nowMs: number): number {
    const needed = waiting.reduce((total, { cost }) => total + this.#bounded(cost), 0);
    const perCall = waiting.length > 0 ? needed / waiting.length : this.#perCall;
    const left = this.#leftAt(nowMs);
    const pool = (left + this.#perSecond) / Math.max(TINY, perCall);
    const own = shareCalls({ pool, own: demand, others: this.#others });
    this.#isScarce = countCalls(demand) + countCalls(this.#others) > pool;
    this.#share = pool > 0 && this.#isScarce ? Math.max(own / pool, TINY) : 1;
    if (this.#isScarce) return Math.min(needed, Math.max(0, this.#held) + own * perCall);
    const headroom = countCalls(demand) === 0 ? 0 : HEADROOM_SHARE * left;
    return needed + countCalls(this.#recent) * perCall + headroom;
  }

  #bounded(cost: number): number {
    return Math.min(cost, this.limit.perMinute);
  }

  /** The estimated remaining amount of the window. */
  #leftAt(nowMs: number): number {
    const { amount, atMs } = this.#left;
    return Math.max(0, Math.min(this.limit.perMinute, amount + ((nowMs - atMs) / SECOND) * this.#perSecond));
  }
}
