// Decisions about requests for approvals, and results of calls of external tools.
import { randomUUID } from 'node:crypto';
import { addApprovals } from '../../rows/approvals.ts';
import { addToolCalls } from '../../rows/calls.ts';
import { addEntries } from '../../rows/entries.ts';
import { changeSessions } from '../../rows/sessions.ts';
import { ahead, now } from '../../rows/table.ts';
import { toolCallId } from '../../../src/core/tool-policy.ts';
import type { HoldCode } from '../../../src/core/statuses.ts';
import { count, insertTurn, sessionIdOf, type Ground, type KeyedScenario } from './keyed-ground.ts';

/** Inserts a call that waits, with its turn. */
async function insertHeld(ground: Ground, session: string, heldFor: HoldCode) {
  const sessionId = await sessionIdOf(ground, session);
  const turnId = await insertTurn(ground, sessionId, 'running');
  await changeSessions(ground, { id: sessionId }, { turnId });
  const place = { turnId, callId: 'call-1', step: 1, ordinal: 1 };
  const call = { name: 'exec', status: 'intent', epoch: 1, runs: 0, isIdempotent: false, intentAt: now };
  await addToolCalls(ground, { ...place, ...call, heldFor, heldUntil: ahead('1 day') });
  const called = { type: 'tool_use', id: place.callId, name: call.name, input: {} };
  await addEntries(ground, { sessionId, seq: 1, turnId, kind: 'answer', role: 'assistant', content: [called] });
  return { sessionId, place };
}

const RESULT: KeyedScenario = {
  name: 'the result of an external tool',
  route: '/v1/tool-calls/{toolCallId}/result',
  async prepare(ground, session) {
    const { sessionId, place } = await insertHeld(ground, session, 'external_tool');
    return {
      path: `/v1/tool-calls/${toolCallId(place)}/result`,
      body: { content: 'done' },
      status: 200,
      effects: () => count(ground, `holdfast.sessions where id = $1 and held_seq = 1`, [sessionId]),
    };
  },
};

/** A decision about a call that waits for one; each is an event. */
function decision(verb: string, status: string): KeyedScenario {
  return {
    name: `a decision to ${verb}`,
    route: `/v1/approvals/{id}/${verb}`,
    async prepare(ground, session) {
      const { sessionId, place } = await insertHeld(ground, session, 'approval');
      const { turnId } = place;
      const id = randomUUID();
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

export const KEYED_APPROVALS: KeyedScenario[] = [decision('approve', 'approved'), decision('deny', 'denied'), RESULT];
