// Decisions about requests for approvals.
import { randomUUID } from 'node:crypto';
import { addApprovals } from '../../rows/approvals.ts';
import { addToolCalls } from '../../rows/calls.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { ahead, now } from '../../rows/table.ts';
import { count, insertTurn, sessionIdOf, type KeyedScenario } from './keyed-ground.ts';

/** A decision about a call that waits for one; each is an event. */
function decision(verb: string, status: string): KeyedScenario {
  return {
    name: `a decision to ${verb}`,
    route: `/v1/approvals/{id}/${verb}`,
    async prepare(ground, session) {
      const sessionId = await sessionIdOf(ground, session);
      const turnId = await insertTurn(ground, sessionId, 'running');
      await changeSessions(ground, { id: sessionId }, { turnId });
      const [id, callId] = [randomUUID(), 'call-1'];
      const place = { turnId, callId, step: 1, ordinal: 1 };
      const call = { name: 'exec', status: 'intent', epoch: 1, runs: 0, isIdempotent: false, intentAt: now };
      await addToolCalls(ground, { ...place, ...call, heldFor: 'approval', heldUntil: ahead('1 day') });
      const shown = { tool: 'exec', input: {}, folder: '/tmp', whatSha256: 'x', reasons: ['rule'] };
      await addApprovals(ground, { ...place, ...shown, id, sessionId, status: 'open', expiresAt: ahead('1 day') });
      return {
        path: `/v1/approvals/${id}/${verb}`,
        body: {},
        status: 200,
        effects: () =>
          count(ground, `holdfast.events where type = 'approval.decided' and turn_id = $1 and data ->> 'status' = $2`, [
            turnId,
            status,
          ]),
      };
    },
  };
}

export const KEYED_APPROVALS: KeyedScenario[] = [decision('approve', 'approved'), decision('deny', 'denied')];
