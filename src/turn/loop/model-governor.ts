// Keeps the model calls of all workers below the configured rate limits. One per worker. It takes an allowance for about the next second
// from the database, one statement for all limits, and spends it in memory on the calls that wait:
//
//   call ──admit──▶ covered by what is held? ──▶ made
//                    └─▶ waits ──the next statement grants more──▶ made, by lane and then by the age of its turn
//                          └── for longer than a worker should ──▶ `late`: its turn is parked
//
// Unused allowance is returned with the next statement. Without limits, none of this runs.
import type { Clock } from '../../clock.ts';
import { limitsFor, type Amounts, type CallTokens, type RateLimit } from '../../core/governor/rate-limit.ts';
import { nextLane, noCalls, passOver, type LaneCounts } from '../../core/governor/share-calls.ts';
import { refOfModel, type NamedModel } from '../../core/model-ref.ts';
import type { Model } from '../../model/model.ts';
import type { AllowanceAsk, AllowanceGrant } from '../../store/governor/take-allowance.ts';
import { RateWindow } from './rate-window.ts';

/** Between two statements, in milliseconds: while a limit is scarce, and while there is enough of it. */
const TAKE_MS = 1000;
const TAKE_MS_PLENTY = 50;

export interface ModelGovernorOptions {
  /** The limits that hold now. */
  limits: () => readonly RateLimit[];
  clock: Clock;
  accountOf: Model['accountOf'];
  store: {
    open: (asks: readonly AllowanceAsk[]) => Promise<void>;
    take: (asks: readonly AllowanceAsk[]) => Promise<Map<string, AllowanceGrant>>;
  };
  /** Called when a statement has failed; the next follows. Must not throw. */
  onFault: (error: unknown) => void;
}

export interface GovernedCall {
  model: NamedModel;
  lane: keyof LaneCounts;
  /** Turns with smaller ids go first. */
  turnId: string;
  /** The expected usage. Called only when a limit applies to the call. */
  tokens: () => CallTokens;
  /** The longest wait, in milliseconds. */
  waitMsMax: number;
  /** Aborts the wait, which then rejects with its reason. */
  signal: AbortSignal;
}

/**
 * `admitted`: after a wait of `waitedMs`, 0 if it was covered immediately. `late`: the call would have to wait longer than its limit; after about
 * `waitMs` there is allowance for it. `giveBack`: the call was not made.
 */
export type RateAdmission =
  | { kind: 'admitted'; waitedMs: number; settle: (tokens: CallTokens) => void; giveBack: () => void }
  | { kind: 'late'; waitMs: number };

type WaitEnd = { kind: 'covered'; waitedMs: number } | { kind: 'late'; waitMs: number };

interface Need {
  window: RateWindow;
  cost: Amounts;
}

interface WaitingCall {
  lane: keyof LaneCounts;
  turnId: string;
  needs: readonly Need[];
  admit: () => void;
}

export class ModelGovernor {
  readonly #options: ModelGovernorOptions;
  /** By account and limit. */
  readonly #windows = new Map<string, RateWindow>();
  readonly #opened = new Set<RateWindow>();
  #waiting: WaitingCall[] = [];
  #passedOver = noCalls();
  #timer: NodeJS.Timeout | null = null;
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #isTaking = false;
  #isStopped = false;

  constructor(options: ModelGovernorOptions) {
    this.#options = options;
  }

  /** Waits until there is allowance for the call in all limits that hold for it. */
  async admit(call: GovernedCall): Promise<RateAdmission> {
    const windows = this.#windowsFor(call);
    if (windows.length === 0)
      return { kind: 'admitted', waitedMs: 0, settle: () => undefined, giveBack: () => undefined };
    const tokens = call.tokens();
    const needs = windows.map((window) => ({ window, cost: window.costOf(tokens) }));
    const end = await this.#wait(call, needs);
    if (end.kind === 'late') return end;
    return {
      kind: 'admitted',
      waitedMs: end.waitedMs,
      settle: (actual) => {
        for (const { window, cost } of needs) window.settle(cost, window.costOf(actual));
        this.#schedule();
      },
      giveBack: () => {
        for (const { window, cost } of needs) window.settle(cost, {});
        this.#dispatch();
        this.#schedule();
      },
    };
  }

  /** The provider has refused a call for its rate: nothing is left of the limits that hold for it. */
  refused(call: Pick<GovernedCall, 'model' | 'lane'>): void {
    for (const window of this.#windowsFor(call)) window.empty();
    this.#schedule();
  }

  /** The provider has reported what is left of its limits: the next statement lowers the remaining allowance to that, and never raises it. */
  correct(call: Pick<GovernedCall, 'model' | 'lane'>, remaining: Amounts): void {
    for (const window of this.#windowsFor(call)) window.correct(remaining);
  }

  /** Ends the statements; calls that wait are late at the end of their time. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isStopped = true;
  }

  #windowsFor({ model, lane }: Pick<GovernedCall, 'model' | 'lane'>): RateWindow[] {
    const { accountOf } = this.#options;
    const limits = this.#options.limits();
    if (limits.length === 0) return [];
    return limitsFor(limits, { model: refOfModel(model), lane }).map((limit) => {
      const id = `${accountOf(model)} ${limit.id}`;
      let window = this.#windows.get(id);
      // A limit that was changed has a new window. Calls that wait for the old one are late.
      if (window?.limit !== limit) this.#windows.set(id, (window = new RateWindow(id, limit)));
      return window;
    });
  }

  async #wait({ lane, turnId, waitMsMax, signal }: GovernedCall, needs: readonly Need[]): Promise<WaitEnd> {
    signal.throwIfAborted();
    const beganAtMs = this.#options.clock.monotonicMs();
    const admitted = Promise.withResolvers<boolean>();
    const waiting: WaitingCall = { lane, turnId, needs, admit: () => admitted.resolve(true) };
    this.#waiting.push(waiting);
    this.#dispatch();
    this.#schedule();
    if (!this.#waiting.includes(waiting)) return { kind: 'covered', waitedMs: 0 };
    if (this.#waitMsOf(waiting) > waitMsMax) admitted.resolve(false);
    const timer = setTimeout(() => admitted.resolve(false), waitMsMax);
    timer.unref();
    const abort = (): void => admitted.reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    try {
      if (!(await admitted.promise)) return { kind: 'late', waitMs: this.#waitMsOf(waiting) };
      return { kind: 'covered', waitedMs: this.#options.clock.monotonicMs() - beganAtMs };
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      this.#waiting = this.#waiting.filter((one) => one !== waiting);
    }
  }

  /** About how long a call waits: until there is enough for those before it and for itself. */
  #waitMsOf(call: WaitingCall): number {
    const nowMs = this.#options.clock.monotonicMs();
    const before = this.#waiting.filter(
      (one) =>
        one !== call && RANK[one.lane] <= RANK[call.lane] && (one.lane !== call.lane || one.turnId < call.turnId),
    );
    const waits = call.needs.map(({ window, cost }) => {
      const total: Amounts = { ...cost };
      for (const need of before.flatMap(({ needs }) => needs.filter((each) => each.window === window)))
        addTo(total, need.cost);
      return window.waitMs(total, nowMs);
    });
    return Math.max(0, ...waits);
  }

  /** Admits the calls that the allowance covers: by lane, then by the age of the turn. A call that is not covered blocks those after it. */
  #dispatch(): void {
    const used = new Set<RateWindow>();
    for (;;) {
      const able = this.#waiting.filter(({ needs }) => needs.every(({ window }) => !used.has(window)));
      const lane = nextLane(lanesOf(able), this.#passedOver);
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
      this.#passedOver = passOver(this.#passedOver, lanesOf(this.#waiting), lane);
      next.admit();
    }
  }

  #schedule(): void {
    if (this.#timer !== null || this.#isTaking || this.#isStopped) return;
    const active = [...this.#windows.values()].filter((window) => !window.isIdle() || this.#isAwaited(window));
    if (active.length === 0) return;
    // While there is enough, a call that waits need not wait for the whole second.
    const isUrgent = active.some((window) => this.#isAwaited(window) && !window.isScarce);
    const dueAtMs = this.#takenAtMs + (isUrgent ? TAKE_MS_PLENTY : TAKE_MS);
    const delayMs = Math.max(0, dueAtMs - this.#options.clock.monotonicMs());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#take();
    }, delayMs);
    this.#timer.unref();
  }

  #isAwaited(window: RateWindow): boolean {
    return this.#waiting.some(({ needs }) => needs.some((need) => need.window === window));
  }

  async #take(): Promise<void> {
    const { clock, store, onFault } = this.#options;
    this.#isTaking = true;
    this.#takenAtMs = clock.monotonicMs();
    const windows = [...this.#windows.values()];
    const asks = windows.map((window) => window.ask(this.#costsIn(window), this.#takenAtMs));
    try {
      const unopened = windows.some((window) => !this.#opened.has(window));
      if (unopened) await store.open(asks);
      for (const window of windows) this.#opened.add(window);
      const grants = await store.take(asks);
      for (const window of windows) {
        const grant = grants.get(window.id);
        if (grant !== undefined) window.receive(grant, clock.monotonicMs());
      }
    } catch (error) {
      onFault(error);
    } finally {
      this.#isTaking = false;
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

const RANK: LaneCounts = { main: 0, subagent: 1, cron: 2, batch: 3 };

function lanesOf(calls: readonly WaitingCall[]): LaneCounts {
  const counts = noCalls();
  for (const { lane } of calls) counts[lane] += 1;
  return counts;
}

function addTo(total: Amounts, cost: Amounts): void {
  for (const unit of Object.keys(cost) as (keyof Amounts)[]) total[unit] = (total[unit] ?? 0) + (cost[unit] ?? 0);
}
