// After a turn: rings for what the turn left behind. The turn itself knows no queue; it answers what is needed, as values.
import type { Doorbell, Ring } from '../jobs/index.ts';
import type { Lane } from '../src/config.ts';
import type { TurnOutcome } from '../src/turn/run-turn.ts';

/** Rings what the outcome asks for. A ring that is lost is rung again by the reconciler. */
export async function ringNext(doorbell: Doorbell, outcome: TurnOutcome): Promise<void> {
  const rings = ringsOf(outcome);
  if (rings.length > 0) await doorbell.ring(rings);
}

function ringsOf(outcome: TurnOutcome): Ring[] {
  switch (outcome.kind) {
    case 'released':
      return outcome.ring === null ? [] : [{ kind: 'inbound', ...outcome.ring, lane: outcome.ring.lane as Lane }];
    case 'ended': {
      const rings: Ring[] = [];
      if (outcome.ring !== null) rings.push({ kind: 'followup', ...outcome.ring, lane: outcome.ring.lane as Lane });
      if (outcome.deliveryRingNo !== null) {
        rings.push({ kind: 'deliver', sessionId: outcome.sessionId, ringNo: outcome.deliveryRingNo });
      }
      return rings;
    }
    // Whoever holds the session looks at its inbox when done; what is early is rung by the reconciler.
    case 'lost':
    case 'busy':
    case 'idle':
    case 'early':
      return [];
  }
}
