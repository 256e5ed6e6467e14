// The check of the configured rate limits (`models.limits`): it keeps the calls of all workers
// below them. One per worker. It claims from the database what the calls of about the next second
// need, one statement for all limits, and spends it in memory on the calls that wait:
//
//   call ──▶ covered by what is held? ──▶ made
//             └─▶ waits in a queue ──the next statement claims more──▶ made, by lane and then by the age of its turn
//                   └── for longer than a worker should ──▶ its turn is parked
//
// What is not used is returned with the next statement. Without limits, none of this runs.
import type { Clock } from '../../clock.ts';
import { isPaidPurpose } from '../../core/model-request.ts';
import { classifyOutage } from '../../core/failure.ts';
import { estimateTokens } from '../../core/content-size.ts';
import { limitsFor, type CallTokens, type RateLimit, toRateLimits } from '../../core/rate-limit.ts';
import { LANES_BY_RANK, nextLane, noCalls, passOver, type LaneCounts } from './rules/share-calls.ts';
import { chooseBlockMs } from '../../kernel/rules/model-outage.ts';
import { refOfModel, type NamedModel } from '../../core/models.ts';
import type { Model } from '../../model/model.ts';
import { type RateAsk, type RateShare, claimRates, openRateWindows } from './claim-rates.ts';
import { rateLimited } from '../../kernel/rules/why.ts';
import { laneOf, estimateNextRequest } from '../../kernel/turn/opened-turn.ts';
import type { OutputHistory } from '../../kernel/turn/model-states.ts';
import type { CheckAnswer, GateCheck, ComingCall, Hold } from '../../kernel/turn/gate-check.ts';
import { RateWindow } from './rate-window.ts';
import { WAIT_IN_SLOT_MS_MAX } from '../../kernel/turn/turn-stop.ts';
import type { Config } from '../../config.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';

/**
 * Between two statements, in milliseconds: while a limit is scarce, and while there is enough of
 * it.
 */
const CLAIM_MS = 1000;
const CLAIM_MS_PLENTY = 50;

/**
 * A parked turn returns this much before there is room for it, so that nothing is left unused; the
 * shortest park. In milliseconds.
 */
const EARLY_MS = 2_500;
const PARK_MS_MIN = 1_000;

export interface RateLimitOptions {
  /** The limits that hold now. */
  limits: () => readonly RateLimit[];
  clock: Clock;
  accountOf: Model['accountOf'];
  /** The expected usage of a call. */
  tokensOf: (call: ComingCall) => CallTokens;
  store: {
    open: (asks: readonly RateAsk[]) => Promise<void>;
    claim: (asks: readonly RateAsk[]) => Promise<readonly RateShare[]>;
  };
  /** Called when a statement has failed; the next follows. Must not throw. */
  onFault: (error: unknown) => void;
  /** The longest wait in a slot, in milliseconds. */
  waitMsMax?: number;
}

interface Need {
  window: RateWindow;
  cost: number;
}

interface WaitingCall {
  lane: keyof LaneCounts;
  turnId: string;
  needs: readonly Need[];
  letThrough: () => void;
}

export class RateLimits implements GateCheck {
  readonly #options: RateLimitOptions;
  /** By account, limit and unit. */
  readonly #windows = new Map<string, RateWindow>();
  readonly #opened = new Set<RateWindow>();
  #waiting: WaitingCall[] = [];
  #passedOver = noCalls();
  #timer: NodeJS.Timeout | null = null;
  #claimedAtMs = Number.NEGATIVE_INFINITY;
  #isClaiming = false;
  #isStopped = false;

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  applies({ way }: ComingCall): boolean {
    return way === 'live' && this.#options.limits().length > 0;
  }

  /**
   * Waits until all limits that hold for the call have room for it. Turns with smaller ids go
   * first.
   */
  async ask(call: ComingCall): Promise<CheckAnswer> {
    const windows = this.#windowsFor(call);
    if (windows.length === 0) return { kind: 'pass' };
    const tokens = this.#options.tokensOf(call);
    const needs = windows.map((window) => ({ window, cost: window.costOf(tokens) }));
    const { isLate, ms } = await this.#wait(call, needs);
    if (!isLate) return { kind: 'pass', hold: this.#toHold(windows, needs, laneOf(call.turn)), waitedMs: ms };
    const forMs = Math.max(PARK_MS_MIN, ms - EARLY_MS);
    return { kind: 'wait', reason: rateLimited(call.model), forMs, spreadMs: forMs / 10, isParked: true };
  }

  /** Ends the statements; calls that wait are late at the end of their time. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isStopped = true;
  }

  #toHold(windows: readonly RateWindow[], needs: readonly Need[], lane: keyof LaneCounts): Hold {
    let isSpent = false;
    return {
      begun: () => void (isSpent = true),
      // The next statement lowers what is left to that, and never raises it.
      remaining: (left) => windows.forEach((window) => window.correct(left)),
      used: ({ inputTokens, cacheWriteTokens, cacheReadTokens, outputTokens }) => {
        const actual = { uncachedTokens: inputTokens + cacheWriteTokens, cacheReadTokens, outputTokens };
        for (const { window, cost } of needs) window.settle(cost, window.costOf(actual));
        this.#schedule();
      },
      left: () => {
        if (isSpent) return;
        for (const { window, cost } of needs) window.giveBack(cost, lane);
        this.#dispatch();
        this.#schedule();
      },
      // The provider has refused a call for its rate: nothing is left.
      failed: async (fault) => {
        if (chooseBlockMs(fault) === null || classifyOutage(fault) !== 'rate_limited') return null;
        for (const window of windows) window.empty();
        this.#schedule();
        return null;
      },
    };
  }

  #windowsFor({ model, turn }: { model: NamedModel } & Pick<ComingCall, 'turn'>): RateWindow[] {
    const { accountOf, limits } = this.#options;
    return limitsFor(limits(), { model: refOfModel(model), lane: laneOf(turn) }).map((limit) => {
      const id = `${accountOf(model)} ${limit.id}`;
      const key = `${id} ${limit.unit}`;
      let window = this.#windows.get(key);
      // A limit that was changed has a new window. Calls that wait for the old one are late.
      if (window?.limit !== limit) this.#windows.set(key, (window = new RateWindow(id, limit)));
      return window;
    });
  }

  /**
   * `ms`: how long the call has waited, exactly 0 if it was covered immediately; if it is late, how
   * long it would have to wait.
   */
  async #wait({ turn }: ComingCall, needs: readonly Need[]): Promise<{ isLate: boolean; ms: number }> {
    const { clock, waitMsMax = WAIT_IN_SLOT_MS_MAX } = this.#options;
    const { signal } = turn.held;
    signal.throwIfAborted();
    const beganAtMs = clock.monotonicMs();
    const end = Promise.withResolvers<'through' | 'late'>();
    const waiting = { lane: laneOf(turn), turnId: turn.id, needs, letThrough: () => end.resolve('through') };
    this.#waiting.push(waiting);
    this.#dispatch();
    this.#schedule();
    if (!this.#waiting.includes(waiting)) return { isLate: false, ms: 0 };
    // It is removed at once: a place that it no longer waits for would be lost.
    const leave = (): void => void (this.#waiting = this.#waiting.filter((one) => one !== waiting));
    const beLate = (): void => {
      leave();
      end.resolve('late');
    };
    if (this.#computeWaitMs(waiting) > waitMsMax) beLate();
    const timer = setTimeout(beLate, waitMsMax);
    timer.unref();
    const abort = (): void => {
      leave();
      end.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      const isLate = (await end.promise) === 'late';
      return { isLate, ms: isLate ? this.#computeWaitMs(waiting) : clock.monotonicMs() - beganAtMs };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    }
  }

  /** About how long a call waits: until there is enough for those before it and for itself. */
  #computeWaitMs({ lane, turnId, needs }: WaitingCall): number {
    const nowMs = this.#options.clock.monotonicMs();
    const before = this.#waiting.filter((one) =>
      one.lane === lane ? one.turnId < turnId : LANES_BY_RANK.indexOf(one.lane) < LANES_BY_RANK.indexOf(lane),
    );
    const others = before.flatMap((one) => one.needs);
    const waits = needs.map(({ window, cost }) => {
      const earlier = others.reduce((sum, need) => sum + (need.window === window ? need.cost : 0), 0);
      return window.waitMs(earlier + cost, nowMs);
    });
    return Math.max(0, ...waits);
  }

  /**
   * Lets the calls through that are covered: by lane, then by the age of the turn. A call that is
   * not covered blocks those after it.
   */
  #dispatch(): void {
    const used = new Set<RateWindow>();
    for (;;) {
      const able = this.#waiting.filter(({ needs }) => needs.every(({ window }) => !used.has(window)));
      const lane = nextLane(countLanes(able), this.#passedOver);
      if (lane === null) return;
      const next = able
        .filter((one) => one.lane === lane)
        .reduce((one, other) => (other.turnId < one.turnId ? other : one));
      const uncovered = next.needs.filter(({ window, cost }) => !window.covers(cost));
      if (uncovered.length > 0) {
        for (const { window } of uncovered) used.add(window);
        continue;
      }
      for (const { window, cost } of next.needs) window.spend(cost, lane);
      this.#waiting = this.#waiting.filter((one) => one !== next);
      this.#passedOver = passOver(this.#passedOver, countLanes(this.#waiting), lane);
      next.letThrough();
    }
  }

  #schedule(): void {
    if (this.#timer !== null || this.#isClaiming || this.#isStopped) return;
    const active = [...this.#windows.values()].filter((window) => !window.isIdle() || this.#costsIn(window).length > 0);
    if (active.length === 0) return;
    // While there is enough, a call that waits need not wait for the whole second.
    const isUrgent = this.#waiting.some(({ needs }) => needs.every(({ window }) => !window.isScarce));
    const dueAtMs = this.#claimedAtMs + (isUrgent ? CLAIM_MS_PLENTY : CLAIM_MS);
    const delayMs = Math.max(0, dueAtMs - this.#options.clock.monotonicMs());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#claim();
    }, delayMs);
    this.#timer.unref();
  }

  async #claim(): Promise<void> {
    const { clock, store, onFault } = this.#options;
    this.#isClaiming = true;
    this.#claimedAtMs = clock.monotonicMs();
    const windows = [...this.#windows.values()];
    const asks = windows.map((window) => window.ask(this.#costsIn(window), this.#claimedAtMs));
    try {
      const unopened = windows.some((window) => !this.#opened.has(window));
      if (unopened) await store.open(asks);
      for (const window of windows) this.#opened.add(window);
      const shares = await store.claim(asks);
      for (const share of shares) {
        const isOf = ({ limitId, limit }: RateWindow) => limitId === share.limitId && limit.unit === share.unit;
        windows.find(isOf)?.receive(share, clock.monotonicMs());
      }
    } catch (error) {
      onFault(error);
    } finally {
      this.#isClaiming = false;
    }
    this.#dispatch();
    this.#schedule();
  }

  #costsIn(window: RateWindow) {
    return this.#waiting.flatMap(({ lane, needs }) =>
      needs.filter((need) => need.window === window).map(({ cost }) => ({ lane, cost })),
    );
  }
}

function countLanes(calls: readonly WaitingCall[]): LaneCounts {
  const counts = noCalls();
  for (const { lane } of calls) counts[lane] += 1;
  return counts;
}

/**
 * The tokens that a call is likely to use. The input that the provider reported for the last
 * request counts as cached.
 */
export function expectedTokens(recentOutputs: OutputHistory, { turn, purpose, request }: ComingCall): CallTokens {
  if (isPaidPurpose(purpose)) {
    const { messages, maxTokens } = request();
    return { uncachedTokens: estimateTokens(messages), cacheReadTokens: 0, outputTokens: maxTokens };
  }
  const { at, attempt } = turn.journal;
  const { reported, added } = at.tokens;
  const outputTokens = recentOutputs.likely(turn.agent.id, attempt.request.maxTokens);
  return reported === null
    ? { uncachedTokens: estimateNextRequest(turn), cacheReadTokens: 0, outputTokens }
    : { uncachedTokens: added, cacheReadTokens: reported.tokens, outputTokens };
}

// The rate limits of a worker's turns.

/** Keeps the calls of all workers below the configured rate limits. */
export function limitsOfTurns({ config, clock, database, owner, model, recentOutputs }: TurnParts): TurnFeature {
  const check = new RateLimits({
    limits: liveLimits(config),
    clock,
    accountOf: (named) => model.accountOf(named),
    tokensOf: (call) => expectedTokens(recentOutputs, call),
    store: {
      open: (asks) => openRateWindows(database, asks),
      claim: (asks) => claimRates(database, owner, asks),
    },
    onFault: (error) => database.outages.report(error, 'Rate limits could not be read'),
  });
  return { check };
}

/** The rate limits of the running configuration; the same list while they are the same. */
function liveLimits(config: Config): () => readonly RateLimit[] {
  let known = { written: config.models.limits, limits: toRateLimits(config.models.limits) };
  return () => {
    const written = config.models.limits;
    if (known.written !== written) known = { written, limits: toRateLimits(written) };
    return known.limits;
  };
}
