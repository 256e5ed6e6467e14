// The steps of a turn: claim > drain > load > assemble > loop > decide > commit. It does not know the queue.
//
//   claim     takes the session's lock and reads, in the same round trip, the waiting inputs and the open turn of an earlier worker
//   start     a new turn: its inputs are chosen, its events drained, its prompt assembled, and all of it is one commit
//   resume    or an open one: everything is read back, and the journal says how far it got
//   loop      asks the model and runs its tools, a commit before and after everything that has an effect
//   end       the last answer, what follows from it, and the lock's release are one commit
//
// How it can end, and what is then true:
//   ended     the turn is closed and its messages are settled; the rings are for messages that arrived meanwhile and for the outbox
//   released  the turn is open and no worker holds it; `ring` is for another worker
//   parked    the turn is open and waits for an external event; `ring` is for a worker when it was stopped meanwhile
//   lost      another worker holds the session, or the holder is unknown: nothing more was written; the lease or the reconciler decides
//   busy, idle, early   there was nothing to do here
//
// If the worker crashes anywhere in here, its lock expires and the journal stays as it is. The next claim resumes after it
// (G10, G11).
import type { SessionId } from '../core/ids.ts';
import { isPassingFault } from '../store/database.ts';
import type { FinishResult } from '../store/journal/finish-turn.ts';
import type { LaterRing, NeededRing } from '../store/session-locks.ts';
import { runCompactionTurn } from './compact/compact-turn.ts';
import type { TurnContext } from './context.ts';
import { endAfterFault } from './end/end-after-fault.ts';
import { finishAnswered, finishYielded } from './end/end-turn.ts';
import type { HeldSession } from './held-session.ts';
import { resumeTurn } from './open/resume-turn.ts';
import type { RunningTurn } from './running-turn.ts';
import { startTurn, type ClaimWithTranscript } from './open/start-turn.ts';
import { runToolLoop } from './loop/tool-loop.ts';
import { knownOf } from './transcript-cache.ts';
import { parkTurn } from './loop/await-model.ts';
import { TurnStopped, type ParkWish } from './turn-end.ts';

export type TurnOutcome =
  | {
      kind: 'ended';
      sessionId: SessionId;
      ring: LaterRing | null;
      deliveryRingNo: number | null;
      /** Of sessions that something has come to. */
      reached: NeededRing[];
    }
  | { kind: 'released'; ring: NeededRing | null }
  | { kind: 'parked'; ring: NeededRing | null }
  | { kind: 'early'; ring: LaterRing | null }
  | { kind: 'lost' | 'busy' | 'idle' };

/** Runs the next turn of a session, if it has one and no worker holds it. Rejects only for faults of the database. */
export async function runTurn(context: TurnContext, sessionId: SessionId): Promise<TurnOutcome> {
  if (!context.locks.reserve(sessionId)) return { kind: 'busy' };
  try {
    return await claimAndRun(context, sessionId);
  } finally {
    context.locks.unreserve(sessionId);
  }
}

async function claimAndRun(context: TurnContext, sessionId: SessionId): Promise<TurnOutcome> {
  const askedAtMs = context.clock.monotonicMs();
  const kept = context.transcripts.take(sessionId);
  const { owner, leaseMs } = context.locks;
  const claim = await context.store.claim({ sessionId, owner, leaseMs, known: knownOf(kept) });
  if (claim.kind === 'claimed') return await runHeld(context, { ...claim, kept }, askedAtMs);
  if (kept !== null) context.transcripts.keep(sessionId, kept);
  return claim.kind === 'early' ? claim : { kind: claim.kind };
}

async function runHeld(context: TurnContext, found: ClaimWithTranscript, askedAtMs: number): Promise<TurnOutcome> {
  const held = context.locks.hold(found.session.id, found.session.epoch, askedAtMs);
  try {
    return await runClaimed(context, found, held);
  } finally {
    context.locks.drop(held);
  }
}

async function runClaimed(context: TurnContext, claim: ClaimWithTranscript, held: HeldSession): Promise<TurnOutcome> {
  let turn: RunningTurn | null = null;
  try {
    turn =
      claim.openTurn === null
        ? await startTurn(context, claim, held)
        : await resumeTurn(context, claim, claim.openTurn, held);
    if (turn === null) return await release(context, held);
    return await runToEnd(context, turn);
  } catch (error) {
    if (!(error instanceof TurnStopped)) return await releaseAfterFault(context, held, error);
    if (error.reason.kind === 'lock-lost') return { kind: 'lost' };
    if (error.reason.kind === 'parked' && turn !== null) return await park(context, turn, error.reason.park);
    return await release(context, held);
  }
}

async function runToEnd(context: TurnContext, turn: RunningTurn): Promise<TurnOutcome> {
  const deadline = new TurnDeadline(turn);
  try {
    const ending = await endOf(context, turn);
    if (ending.kind === 'fenced') return { kind: 'lost' };
    const { ring, deliveryRingNo, reached } = ending;
    return { kind: 'ended', sessionId: turn.session.id, ring, deliveryRingNo, reached: reached.rings };
  } finally {
    deadline.clear();
  }
}

/** Stops a turn at its deadline. One that is in the middle of a compaction gets the time limit of a compaction in addition, once. */
class TurnDeadline {
  #timer: NodeJS.Timeout;

  constructor(turn: RunningTurn) {
    const { timeoutSeconds, compaction } = turn.agent;
    const stop = (): void => {
      turn.held.stop({ kind: 'turn-timeout', message: `The turn took longer than ${timeoutSeconds} s.` });
    };
    this.#timer = setTimeout(() => {
      if (turn.room.isCompacting && turn.kind !== 'compaction')
        this.#timer = setTimeout(stop, compaction.timeoutSeconds * 1000);
      else stop();
    }, timeoutSeconds * 1000);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** Runs the loop and makes its result the end of the turn; an error that does not end the turn is thrown again. */
async function endOf(context: TurnContext, turn: RunningTurn): Promise<FinishResult> {
  try {
    if (turn.failure !== null) throw turn.failure;
    if (turn.kind === 'compaction') return await runCompactionTurn(context, turn);
    const loopEnd = await runToolLoop(context, turn);
    turn.held.assertHeld();
    return loopEnd.kind === 'answered'
      ? await finishAnswered(context, turn, loopEnd.answered)
      : await finishYielded(context, turn, loopEnd.moment);
  } catch (error) {
    return await endAfterFault(context, turn, error);
  }
}

/** After a database fault that is not retried: the turn stays open, and the next claim need not wait until the lease expires. */
async function releaseAfterFault(context: TurnContext, held: HeldSession, error: unknown): Promise<TurnOutcome> {
  if (!isPassingFault(error)) throw error;
  if (!held.isTrusted) return { kind: 'lost' };
  context.database.outages.failed(error);
  return await release(context, held);
}

async function park(context: TurnContext, turn: RunningTurn, wish: ParkWish): Promise<TurnOutcome> {
  try {
    const ring = await parkTurn(context, turn, wish);
    return ring === null ? { kind: 'lost' } : { kind: 'parked', ring: ring.dueInMs === 0 ? ring : null };
  } catch (error) {
    return await releaseAfterFault(context, turn.held, error);
  }
}

async function release(context: TurnContext, held: HeldSession): Promise<TurnOutcome> {
  const ring = await context.store.release({ sessionId: held.sessionId, epoch: held.epoch });
  return { kind: 'released', ring };
}
