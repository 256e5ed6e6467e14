// After a turn: rings for the work that the turn has left. The turn itself does not know the queue; it returns the needed
// rings as values.
import type { Publish, Ring } from '../src/after-commit.ts';
import type { TurnOutcome } from '../src/turn/run-turn.ts';

/** Sends the rings that the outcome names, immediately or when they are due. The reconciler sends a lost ring again. */
export function ringNext(publish: Publish, outcome: TurnOutcome): void {
  publish({ after: { changed: [], rings: ringsOf(outcome) } });
}

function ringsOf(outcome: TurnOutcome): Ring[] {
  switch (outcome.kind) {
    case 'released':
    case 'parked':
      return outcome.ring === null ? [] : [{ kind: 'inbound', ...outcome.ring, dueInMs: 0 }];
    case 'ended': {
      const rings: Ring[] = outcome.reached.map((ring) => ({ kind: 'announce', ...ring }));
      if (outcome.ring !== null) rings.push({ kind: 'followup', ...outcome.ring });
      if (outcome.deliveryRingNo !== null) {
        rings.push({ kind: 'deliver', sessionId: outcome.sessionId, ringNo: outcome.deliveryRingNo });
      }
      return rings;
    }
    case 'early':
      return outcome.ring === null ? [] : [{ kind: 'followup', ...outcome.ring }];
    // The worker that holds the session reads its inbox when it is done.
    case 'lost':
    case 'busy':
    case 'idle':
      return [];
  }
}
