// What people do about subagents: the same as agents do with their tools, under the key of the API.
import type { Inbox } from '../store/inbox.ts';
import type { Doorbell } from '../../jobs/ring.ts';
import type { Config, Lane } from '../config.ts';
import type { Database } from '../store/database.ts';
import { createFamily } from '../store/family.ts';
import type { Wake } from '../wake.ts';
import { newSessionOf } from './accept-message.ts';
import type { Subagents } from './context.ts';

export interface SubagentParts {
  config: Config;
  database: Database;
  inbox: Pick<Inbox, 'ensureSession'>;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
}

/** Makes the functions of a process. */
export function createSubagents({ config, database, inbox, doorbell, wake }: SubagentParts): Subagents {
  const { ensureSession } = inbox;
  const family = createFamily({
    config,
    database,
    // The store writes only lanes of the configuration.
    ring: (rings) => void doorbell.ring(rings.map((one) => ({ kind: 'inbound', ...one, lane: one.lane as Lane }))),
    committed: (sessionId) => wake.committed(sessionId, 'settlement'),
  });
  return {
    async spawn(sessionKey, request, idempotency) {
      await ensureSession(newSessionOf(sessionKey));
      return family.spawn({ sessionKey, turnId: null, causeKey: null, idempotency }, request);
    },
    async kill(runId, reason, idempotency) {
      const stopped = await family.kill(runId, { reason, isTold: false, idempotency });
      if (stopped === null) return null;
      return stopped.kind === 'stopped' ? stopped.runs : 0;
    },
    steer: (runId, text, idempotency) => family.steer(runId, { text, from: null, causeKey: null, idempotency }),
  };
}
