// After a turn: rings for what the turn left behind. The turn itself knows no queue; it answers what is needed, as values.
import type { Doorbell, Ring } from '../jobs/index.ts';
import type { Lane } from '../src/config.ts';
import type { LaterRing, NeededRing } from '../src/store/session-locks.ts';
import type { TurnOutcome } from '../src/turn/run-turn.ts';

/** Rings what the outcome asks for, at once or when it is due. A ring that is lost is rung again by the reconciler. */
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
    // Whoever holds the session looks at its inbox when done.
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

// Not waited for, and forgotten with the process: the row says when it is due, and the reconciler rings.
function ringLater(doorbell: Doorbell, ring: Ring, dueInMs: number): void {
  setTimeout(() => void doorbell.ring([ring]), dueInMs).unref();
}
