// Runs a conversation in which a worker is struck at one round trip, and reports the result.
import type { RoundTrip } from '../../servers/round-trips.ts';
import { converse, newConversation, untilSettled } from './conversation.ts';
import type { CrashRig } from './crash-rig.ts';
import { Fault, type StrikePoint } from './fault.ts';
import { judge } from './judge.ts';
import { isOfTurn, kindOf } from './statement-kinds.ts';
import type { Victim } from './victim.ts';

export interface StrikeReport {
  point: StrikePoint;
  /** False when no worker reached that round trip: then nothing was tested. */
  isReached: boolean;
  /**
   * From the fault to the first commit of another worker in this session; null when nothing was
   * left to do.
   */
  recoveryMs: number | null;
  violations: string[];
}

/** The conversation that the fault strikes. */
type TalkKind = Parameters<typeof newConversation>[0];

/** Which process reaches a round trip, and whether one does, depends on a race. */
const triesMax = 6;

/** A label: `kill before commit-step 2`. */
export function nameOf({ fault, when, kind, ordinal }: StrikePoint): string {
  return `${fault} ${when} ${kind} ${ordinal}`;
}

/**
 * Runs a conversation with the fault and judges it; runs another one if the turn did not reach that
 * round trip.
 */
export async function strike(rig: CrashRig, point: StrikePoint, kind: TalkKind = {}): Promise<StrikeReport> {
  let report = await strikeOnce(rig, point, kind);
  for (let tries = 1; tries < triesMax && !report.isReached && report.violations.length === 0; tries += 1) {
    report = await strikeOnce(rig, point, kind);
  }
  return report;
}

async function strikeOnce(rig: CrashRig, point: StrikePoint, kind: TalkKind): Promise<StrikeReport> {
  await waitForTwo(rig);
  const talk = newConversation(kind);
  const fault = new Fault(rig, talk, point);
  const violations: string[] = [];
  try {
    await converse(rig, talk, fault.happened, point.lastAnswerMs);
    await untilSettled(rig, talk, point.settledWithinMs);
    await fault.wakeLate();
    violations.push(...(await judge(rig, talk)));
  } catch (error) {
    violations.push(...messagesOf(error));
  } finally {
    fault.end();
  }
  return {
    point,
    isReached: fault.isComplete,
    recoveryMs: fault.recoveryMs,
    violations: [...fault.violations, ...violations],
  };
}

/**
 * Waits until two workers are ready: a victim and one that continues. Workers that were killed
 * restart meanwhile.
 */
async function waitForTwo(rig: CrashRig): Promise<void> {
  const revivals = rig.workers.filter((worker) => !worker.isReady).map((worker) => worker.revive());
  while (rig.workers.filter((worker) => worker.isReady).length < 2) {
    await Promise.race(revivals);
    await Promise.resolve();
  }
}

/**
 * The round trips of the first turn of a conversation without a fault: kinds with their counts, in
 * order.
 */
export async function recordTurn(rig: CrashRig, talkKind: TalkKind = {}): Promise<Map<string, number>> {
  const talk = newConversation(talkKind);
  const trips: { worker: Victim; kind: string }[] = [];
  const note = (worker: Victim, trip: RoundTrip): void => {
    if (trip.outcome === 'pending' && isOfTurn(trip)) trips.push({ worker, kind: kindOf(trip) });
  };
  const stops = rig.workers.map((worker) => worker.proxy.onRoundTrip((trip) => note(worker, trip)));
  await converse(rig, talk, new Promise(() => {}));
  await untilSettled(rig, talk);
  for (const stop of stops) stop();
  const runner = trips.find(({ kind }) => kind === 'open-turn')?.worker;
  const own = trips.filter(({ worker }) => worker === runner).map(({ kind }) => kind);
  const secondTurn = own.indexOf('open-turn', own.indexOf('open-turn') + 1);
  const counts = new Map<string, number>();
  for (const kind of secondTurn === -1 ? own : own.slice(0, secondTurn)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function messagesOf(error: unknown): string[] {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) messages.push(cause.message);
  return messages.length > 0 ? messages : [String(error)];
}
