// Strikes a worker at one round trip of a turn and reports what came of it. Whichever worker takes the turn is the victim; the other
// one has to go on. Faults: `kill` (SIGKILL), `freeze` (SIGSTOP until the others have finished everything, then SIGCONT; what was
// on its way arrives then), `cut` (the connection breaks and nobody knows whether the statement was committed).
import { performance } from 'node:perf_hooks';
import type { HeldBytes, RoundTrip } from '../../servers/round-trips.ts';
import { converse, newConversation, untilSettled, type Conversation } from './conversation.ts';
import type { CrashRig } from './crash-rig.ts';
import { isOf, judge } from './judge.ts';
import { changedTables, readSessionRows } from './session-rows.ts';
import { isJournal, isOfTurn, kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';
import { waitUntil } from './wait-until.ts';

export type Fault = 'kill' | 'freeze' | 'cut';

export interface StrikePoint {
  /** Which round trip: the n-th of this kind since the first message was sent, counted from 1. */
  kind: string;
  ordinal: number;
  when: 'before' | 'after';
  fault: Fault;
  /** How long the model takes for the last answer, so that what happens by the clock happens within the turn. */
  lastAnswerMs?: number;
}

export interface StrikeReport {
  point: StrikePoint;
  /** False when no worker came to that round trip: then nothing was tested. */
  isReached: boolean;
  /** From the fault to the first commit of another worker in this session; null when nothing was left to do. */
  recoveryMs: number | null;
  violations: string[];
}

/** For people: `kill before commit-step 2`. */
export function nameOf({ fault, when, kind, ordinal }: StrikePoint): string {
  return `${fault} ${when} ${kind} ${ordinal}`;
}

/** Lets a conversation run with the fault and judges it. Revives the workers first. */
export async function strike(rig: CrashRig, point: StrikePoint): Promise<StrikeReport> {
  await Promise.all(rig.workers.map((worker) => worker.revive()));
  const talk = newConversation();
  const struck = new Strike(rig, point);
  const report: StrikeReport = { point, isReached: false, recoveryMs: null, violations: [] };
  try {
    await converse(rig, talk, struck.happened, point.lastAnswerMs);
    await untilSettled(rig, talk);
    report.violations.push(...(await struck.release(talk)));
    report.violations.push(...(await judge(rig, talk)));
  } catch (error) {
    report.violations.push(...causesOf(error));
  } finally {
    await struck.end();
  }
  report.isReached = struck.victim !== null;
  report.recoveryMs = struck.recoveryMs;
  return report;
}

/** A fault that waits for its round trip, on all workers at once. */
class Strike {
  readonly happened: Promise<void>;
  victim: Victim | null = null;
  recoveryMs: number | null = null;
  readonly #rig: CrashRig;
  readonly #point: StrikePoint;
  readonly #happen: () => void;
  readonly #thaw = Promise.withResolvers<void>();
  readonly #enders: (() => void)[] = [];
  #struckAt = Number.POSITIVE_INFINITY;

  constructor(rig: CrashRig, point: StrikePoint) {
    this.#rig = rig;
    this.#point = point;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.happened = promise;
    this.#happen = resolve;
    for (const worker of rig.workers) this.#watch(worker);
  }

  #watch(worker: Victim): void {
    const { kind, ordinal, when } = this.#point;
    const matches = (trip: RoundTrip): boolean => trip.label.startsWith('holdfast:') && kindOf(trip) === kind;
    const armed = worker.proxy.arm({ when, at: ordinal, matches, hit: () => this.#hit(worker) });
    const stop = worker.proxy.onRoundTrip((trip) => {
      const isRecovery = worker !== this.victim && isJournal(trip) && trip.startedAt > this.#struckAt;
      if (isRecovery) this.recoveryMs ??= trip.startedAt - this.#struckAt;
    });
    this.#enders.push(() => armed.disarm(), stop);
  }

  async #hit(worker: Victim): Promise<HeldBytes> {
    // Two workers may come to theirs in the same moment; one is enough.
    if (this.victim !== null) return 'forward';
    this.victim = worker;
    this.#struckAt = performance.now();
    const { fault } = this.#point;
    if (fault === 'kill') await worker.kill();
    if (fault === 'freeze') worker.freeze();
    this.#happen();
    if (fault !== 'freeze') return 'drop';
    await this.#thaw.promise;
    worker.thaw();
    return 'forward';
  }

  /** Wakes a frozen victim after everything is done, and returns what it did that it must not do. */
  async release(talk: Conversation): Promise<string[]> {
    const { victim } = this;
    if (victim === null || this.#point.fault !== 'freeze') return [];
    const before = await readSessionRows(this.#rig, talk.session);
    const effectsBefore = this.#rig.effects.effects.length;
    const requestsBefore = this.#rig.requests.length;
    const rounds = countReconcileRounds(victim);
    this.#thaw.resolve();
    // Its rounds go by the clock: after two of them it has long been told of whatever it had asked for.
    await waitUntil('the woken worker goes about its business', 10_000, () => rounds() >= 2 || !victim.isAlive);
    const after = await readSessionRows(this.#rig, talk.session);
    const requests = this.#rig.requests.slice(requestsBefore).filter((request) => isOf(request, talk));
    const effects = this.#rig.effects.effects.slice(effectsBefore).filter(({ key }) => talk.effectKeys.includes(key));
    return [
      ...changedTables(before, after).map((table) => `the woken worker wrote to ${table}`),
      ...requests.map(({ number }) => `the woken worker sent model request ${number}`),
      ...effects.map(({ key }) => `the woken worker ran the tool for ${key}`),
    ];
  }

  async end(): Promise<void> {
    for (const end of this.#enders) end();
    this.#thaw.resolve();
    this.victim?.thaw();
  }
}

function countReconcileRounds(worker: Victim): () => number {
  let rounds = 0;
  const stop = worker.proxy.onRoundTrip((trip) => {
    if (trip.tag === 'reconcile' && trip.outcome === 'ok') rounds += 1;
    if (rounds >= 2) stop();
  });
  return () => rounds;
}

/** The round trips of the first turn of a conversation without any fault: kinds with how often each came, in order. */
export async function recordTurn(rig: CrashRig): Promise<Map<string, number>> {
  const talk = newConversation();
  const trips: { worker: Victim; kind: string }[] = [];
  const stops = rig.workers.map((worker) =>
    worker.proxy.onRoundTrip((trip) => {
      if (trip.outcome === 'pending' && isOfTurn(trip)) trips.push({ worker, kind: kindOf(trip) });
    }),
  );
  await converse(rig, talk, new Promise(() => {}));
  await untilSettled(rig, talk);
  for (const stop of stops) stop();
  const runner = trips.find(({ kind }) => kind === 'open-turn')?.worker;
  const own = trips.filter(({ worker }) => worker === runner).map(({ kind }) => kind);
  const end = own.indexOf('open-turn', own.indexOf('open-turn') + 1);
  const counts = new Map<string, number>();
  for (const kind of end === -1 ? own : own.slice(0, end)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function causesOf(error: unknown): string[] {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) messages.push(cause.message);
  return messages.length > 0 ? messages : [String(error)];
}
