// The API's context, built from the store: which function of the store each operation of a route uses.
import type { Inbox } from '../store/inbox.ts';
import { drizzle } from '../store/drizzle.ts';
import type { Doorbell } from '../../jobs/ring.ts';
import type { Lane } from '../config.ts';
import type { SessionId, SystemEventId } from '../core/ids.ts';
import { newId } from '../ids.ts';
import { patchByCommand } from '../store/commands.ts';
import { abortSession, abortTurn } from '../store/control.ts';
import { retryTurn } from '../store/retry-turn.ts';
import type { Database } from '../store/database.ts';
import { discardDelivery, redriveDelivery } from '../store/decide-delivery.ts';
import { patchSession } from '../store/patch-session.ts';
import { enqueueSystemEvent } from '../store/system-events.ts';
import type { Wake } from '../wake.ts';
import { createAcceptMessage, newSessionOf } from './accept-message.ts';
import type { ApiContext, Control, EnqueueSystemEvent } from './context.ts';
import { createSchedule } from './cron-control.ts';
import { createLifecycle } from './session-lifecycle.ts';
import { createDeadLetterControl } from './dead-letter-control.ts';
import { createSubagents } from './subagent-control.ts';

export type ContextParts = Omit<
  ApiContext,
  | 'views'
  | 'outages'
  | 'accept'
  | 'enqueueSystemEvent'
  | 'control'
  | 'lifecycle'
  | 'schedule'
  | 'subagents'
  | 'deadLetters'
  | 'wake'
> & {
  database: Database;
  inbox: Inbox;
  doorbell: Pick<Doorbell, 'ring'>;
  wake: Wake;
};

/** The context of an API over this database. */
export function createApiContext({ database, inbox, doorbell, ...parts }: ContextParts): ApiContext {
  const views = drizzle({ client: database.views });
  const { config, wake } = parts;
  const control = createControl({ config, database, views, doorbell, wake });
  return {
    ...parts,
    views,
    outages: database.outages,
    accept: createAcceptMessage({ config, database, inbox, views, doorbell, wake, control }),
    enqueueSystemEvent: createEnqueue(database, inbox, wake),
    control,
    schedule: createSchedule({ config, database, inbox, doorbell, wake }),
    lifecycle: createLifecycle({ config, database, inbox, views, doorbell, wake, control }),
    subagents: createSubagents({ config, database, inbox, doorbell, wake }),
    deadLetters: createDeadLetterControl(database, control),
  };
}

function createEnqueue(database: Database, { ensureSession }: Inbox, wake: Wake): EnqueueSystemEvent {
  return async ({ sessionKey, text, contextKey, trusted, idempotency }) => {
    const sessionId = await ensureSession(newSessionOf(sessionKey));
    const enqueued = await enqueueSystemEvent(database, {
      id: newId<SystemEventId>(),
      sessionId,
      text,
      contextKey,
      isTrusted: trusted,
      idempotency,
    });
    wake.committed(sessionId, 'progress');
    return enqueued;
  };
}

type ControlParts = Pick<ContextParts, 'config' | 'database' | 'doorbell' | 'wake'> & Pick<ApiContext, 'views'>;

function createControl({ config, database, views, doorbell, wake }: ControlParts): Control {
  function ring({ sessionId, lane, ringNo }: { sessionId: string; lane: string; ringNo: number }): void {
    // The store writes only ids of sessions and lanes of the configuration.
    void doorbell.ring([{ kind: 'inbound', lane: lane as Lane, sessionId: sessionId as SessionId, ringNo }]);
  }
  return {
    async abortSession(input) {
      const done = await abortSession(database, { ...input, modes: config.messages.queue });
      if (done === null) return null;
      for (const sessionId of done.changed) wake.committed(sessionId, 'settlement');
      for (const one of done.rings) ring(one);
      const { aborted, cancelled, stoppedRuns } = done;
      return { aborted, cancelled, stoppedRuns };
    },
    async abortTurn(turnId, idempotency) {
      const stopped = await abortTurn(database, { turnId, idempotency });
      if (stopped.kind !== 'stopped') return stopped.kind;
      wake.committed(stopped.sessionId, 'progress');
      if (stopped.ring !== null) ring(stopped.ring);
      return 'stopped';
    },
    async retryTurn(turnId, idempotency) {
      const retried = await retryTurn(database, turnId, idempotency);
      if (retried.kind !== 'ok') return retried;
      wake.committed(retried.sessionId, 'progress');
      const { sessionId, lane, ringNo, messageIds } = retried;
      if (ringNo !== null) ring({ sessionId, lane, ringNo });
      return { kind: 'ok', messageIds };
    },
    patchSession: (sessionKey, patch) => patchSession(views, sessionKey, patch),
    async patchByCommand(input) {
      const isStored = await patchByCommand(database, input);
      if (isStored) wake.committed(input.sessionId, 'progress');
      return isStored;
    },
    redriveDelivery: (id, idempotency) => redriveDelivery(views, id, idempotency),
    discardDelivery: (id, idempotency) => discardDelivery(views, id, idempotency),
  };
}
