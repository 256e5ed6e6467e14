// A fault that waits for a round trip on all workers, and strikes the first worker that reaches it.
// The kinds:
//   kill    SIGKILL
//   freeze  SIGSTOP until the others have finished all work, then SIGCONT; the delayed statement
//           arrives then
//   race    SIGSTOP until another worker has claimed the session but not yet written; then the
//           victim's statement arrives
//   cut     the connection breaks, and the worker does not know whether the statement was committed
import { performance } from 'node:perf_hooks';
import type { HeldBytes, RoundTrip } from '../../servers/round-trips.ts';
import type { Conversation } from './conversation.ts';
import type { CrashRig } from './crash-rig.ts';
import { isOf } from './judge.ts';
import { changedTables, readEpoch, readRunningCalls, readSessionRows } from './session-rows.ts';
import { isJournal, kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';
import { waitUntil } from './wait-until.ts';

export type FaultKind = 'kill' | 'freeze' | 'race' | 'cut';

export interface StrikePoint {
  fault: FaultKind;
  when: 'before' | 'after';
  /** Which round trip: the n-th of this kind since the first message was sent, counted from 1. */
  kind: string;
  ordinal: number;
  /**
   * How long the model takes for the last answer of the turn. Round trips are counted only while
   * the worker waits for it, so that periodic work happens at a known point of the turn.
   */
  lastAnswerMs?: number;
  /**
   * How long the messages may take to settle afterwards; absent: as long as on a very busy machine.
   */
  settledWithinMs?: number;
}

/** Of the first message: three answers with tool calls, and the last one. */
const modelCallsPerTurn = 4;
const zombieRounds = 2;
const zombieMsMax = 120_000;

export class Fault {
  /** Resolves when a worker was struck. */
  readonly happened: Promise<void>;
  victim: Victim | null = null;
  /**
   * From the fault to the first commit of another worker in the session; null when there was none.
   */
  recoveryMs: number | null = null;
  /** Violations that were observed while the fault lasted. */
  readonly violations: string[] = [];
  readonly #rig: CrashRig;
  readonly #talk: Conversation;
  readonly #point: StrikePoint;
  readonly #happen: () => void;
  readonly #thaw = Promise.withResolvers<void>();
  readonly #enders: (() => void)[] = [];
  #hasRaced = false;
  #struckAt = Number.POSITIVE_INFINITY;
  /**
   * Calls that were in flight when the victim was frozen: their effects may arrive after it wakes.
   */
  #callsUnderWay: string[] = [];

  constructor(rig: CrashRig, talk: Conversation, point: StrikePoint) {
    this.#rig = rig;
    this.#talk = talk;
    this.#point = point;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.happened = promise;
    this.#happen = resolve;
    for (const worker of rig.workers) if (worker.isReady) this.#watch(worker);
  }

  /** True when all parts of the fault have happened. */
  get isComplete(): boolean {
    return this.victim !== null && (this.#hasRaced || this.#point.fault !== 'race');
  }

  /** Removes the traps and wakes a victim that is still frozen. */
  end(): void {
    for (const end of this.#enders) end();
    this.#thaw.resolve();
    this.victim?.thaw();
  }

  /** Wakes a frozen victim after all work is done, and records what it does that it must not do. */
  async wakeLate(): Promise<void> {
    const { victim } = this;
    if (victim === null || this.#point.fault !== 'freeze') return;
    const { effects, requests } = this.#rig;
    const [effectsBefore, requestsBefore] = [effects.effects.length, requests.length];
    const before = await readSessionRows(this.#rig, this.#talk.session);
    const rounds = countReconcileRounds(victim);
    this.#thaw.resolve();
    // Its rounds are periodic: after two of them it has received the answers to all its earlier
    // statements.
    await waitUntil('the woken worker is about', zombieMsMax, () => rounds() >= zombieRounds || !victim.isAlive);
    const after = await readSessionRows(this.#rig, this.#talk.session);
    const asked = requests.slice(requestsBefore).filter((request) => isOf(request, this.#talk));
    const ran = effects.effects
      .slice(effectsBefore)
      .filter(({ key, callId }) => this.#talk.effectKeys.includes(key) && !this.#callsUnderWay.includes(callId));
    this.violations.push(
      ...changedTables(before, after).map((table) => `the woken worker wrote to ${table}`),
      ...asked.map(({ number }) => `the woken worker sent model request ${number}`),
      ...ran.map(({ key }) => `the woken worker ran the tool for ${key}`),
    );
  }

  #watch(worker: Victim): void {
    const { kind, ordinal, when, lastAnswerMs } = this.#point;
    const matches = (trip: RoundTrip): boolean =>
      trip.label.startsWith('holdfast:') &&
      kindOf(trip) === kind &&
      (lastAnswerMs === undefined || this.#isLastAnswerAwaited());
    const armed = worker.proxy.arm({ when, at: ordinal, matches, hit: (trip) => this.#hit(worker, trip) });
    const stop = worker.proxy.onRoundTrip((trip) => {
      const isRecovery = worker !== this.victim && isJournal(trip) && trip.startedAt > this.#struckAt;
      if (isRecovery) this.recoveryMs ??= trip.startedAt - this.#struckAt;
    });
    this.#enders.push(() => armed.disarm(), stop);
  }

  #isLastAnswerAwaited(): boolean {
    return this.#rig.requests.filter((request) => isOf(request, this.#talk)).length >= modelCallsPerTurn;
  }

  async #hit(worker: Victim, trip: RoundTrip): Promise<HeldBytes> {
    // Two workers may reach their round trip at the same time; striking one is enough.
    if (this.victim !== null) return 'forward';
    this.victim = worker;
    this.#struckAt = performance.now();
    const { fault } = this.#point;
    if (fault === 'kill') await worker.kill();
    if (fault === 'freeze' || fault === 'race') worker.freeze();
    if (fault === 'freeze') {
      this.#callsUnderWay = await readRunningCalls(this.#rig, this.#talk.session, trip.startedOn);
    }
    if (fault === 'race') await this.#awaitRival(worker, trip);
    this.#happen();
    if (fault === 'kill' || fault === 'cut') return 'drop';
    await this.#thaw.promise;
    // The held statement goes first: its answer is the first thing that the worker receives when it
    // wakes, before it can check its lock.
    setImmediate(() => worker.thaw());
    return 'forward';
  }

  /**
   * Stops the next worker that claims the session at the answer to its claim, and lets the victim's
   * statement arrive at that point.
   */
  async #awaitRival(victim: Victim, held: RoundTrip): Promise<void> {
    const epoch = await readEpoch(this.#rig, this.#talk.session);
    for (const rival of this.#rig.workers) if (rival !== victim) arm(this, rival);

    function arm(fault: Fault, rival: Victim): void {
      const matches = (trip: RoundTrip): boolean => trip.tag === 'claim';
      const hit = async (): Promise<HeldBytes> => {
        // A claim that came too early, or one of another session, claimed nothing.
        if ((await readEpoch(fault.#rig, fault.#talk.session)) === epoch) arm(fault, rival);
        else await fault.#race(victim, held);
        return 'forward';
      };
      const armed = rival.proxy.arm({ when: 'after', at: 1, matches, hit });
      fault.#enders.push(() => armed.disarm());
    }
  }

  async #race(victim: Victim, held: RoundTrip): Promise<void> {
    const before = await readSessionRows(this.#rig, this.#talk.session);
    const executed = new Promise<void>((resolve) => {
      const stop = victim.proxy.onRoundTrip((trip) => {
        if (trip.number !== held.number || trip.outcome === 'pending') return;
        stop();
        resolve();
      });
    });
    this.#thaw.resolve();
    await executed;
    this.#hasRaced = true;
    const after = await readSessionRows(this.#rig, this.#talk.session);
    this.violations.push(
      ...changedTables(before, after).map((table) => `a statement of an old epoch wrote to ${table}`),
    );
  }
}

/**
 * Returns a function that counts how often the worker has looked for waiting sessions since the
 * call.
 */
export function countReconcileRounds(worker: Victim): () => number {
  let rounds = 0;
  const stop = worker.proxy.onRoundTrip((trip) => {
    if (['who-has-work', 'reconcile'].includes(trip.tag ?? '') && trip.outcome === 'ok') rounds += 1;
    if (rounds >= zombieRounds) stop();
  });
  return () => rounds;
}
