// After a turn: rings for the work that the turn has left. The turn itself does not know the queue; it returns the needed
// rings as values.
import type { Doorbell, Ring } from '../jobs/index.ts';
import type { Lane } from '../src/config.ts';
import type { LaterRing, NeededRing } from '../src/store/session-locks.ts';
import type { TurnOutcome } from '../src/turn/run-turn.ts';

/** Sends the rings that the outcome names, immediately or when they are due. The reconciler sends a lost ring again. */
export async function ringNext(doorbell: Doorbell, outcome: TurnOutcome): Promise<void> {
  const rings = ringsOf(outcome);
  for (const { ring, dueInMs } of rings) if (dueInMs > 0) ringLater(doorbell, ring, dueInMs);
  const due = rings.filter(({ dueInMs }) => dueInMs === 0).map(({ ring }) => ring);
  if (due.length > 0) await doorbell.ring(due);
}

/** A ring, and when it is due in milliseconds. */
interface Due {
  ring: Ring;
  dueInMs: number;
}

function ringsOf(outcome: TurnOutcome): Due[] {
  switch (outcome.kind) {
    case 'released':
    case 'parked':
      return outcome.ring === null ? [] : [dueRing('inbound', { ...outcome.ring, dueInMs: 0 })];
    case 'ended': {
      const rings: Due[] = outcome.reached.map((ring) => dueRing('announce', { ...ring, dueInMs: 0 }));
      if (outcome.ring !== null) rings.push(dueRing('followup', outcome.ring));
      if (outcome.deliveryRingNo !== null) {
        const ring: Ring = { kind: 'deliver', sessionId: outcome.sessionId, ringNo: outcome.deliveryRingNo };
        rings.push({ ring, dueInMs: 0 });
      }
      return rings;
    }
    case 'early':
      return outcome.ring === null ? [] : [dueRing('followup', outcome.ring)];
    // The worker that holds the session reads its inbox when it is done.
    case 'lost':
    case 'busy':
    case 'idle':
      return [];
  }
}

function dueRing(kind: 'inbound' | 'followup' | 'announce', { dueInMs, ...ring }: LaterRing): Due {
  // The store writes only lanes of the configuration.
  return { ring: { kind, ...(ring as NeededRing & { lane: Lane }) }, dueInMs };
}

// Not awaited, and lost with the process: the row says when it is due, and the reconciler rings.
function ringLater(doorbell: Doorbell, ring: Ring, dueInMs: number): void {
  setTimeout(() => void doorbell.ring([ring]), dueInMs).unref();
}
