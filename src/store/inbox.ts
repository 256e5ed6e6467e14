// The way into the inboxes: makes sure that a session exists, and stores its inputs. Made once per process, so that all that write share
// statements and the memory of known sessions.
import type { Committed } from '../after-commit.ts';
import { createAccept, type Acceptance } from './accept-messages.ts';
import type { Database } from './database.ts';
import { dropOverflow } from './drop-overflow.ts';
import type { NewInput } from './new-input.ts';
import { allOf } from './rings.ts';
import { createEnsureSession, type EnsureSession } from './sessions.ts';

export interface Inbox {
  /** The id of a session, which is created if need be. */
  ensureSession: EnsureSession;
  /** Stores an input of an existing session, and drops what is over its cap; resolves after the commits. */
  accept: (input: NewInput) => Promise<Committed<Acceptance>>;
}

/** Makes the inbox of a process. */
export function createInbox(database: Database): Inbox {
  const store = createAccept(database);
  return {
    ensureSession: createEnsureSession(database),
    async accept(input) {
      const acceptance = await store(input);
      if (acceptance.kind !== 'accepted' || !acceptance.isOverCap || input.queue === undefined) return acceptance;
      const { sessionId, queue } = input;
      const dropped = await dropOverflow(database, { sessionId, cap: queue.cap, drop: queue.drop });
      // The session is rung for when the messages over the cap are gone, so no turn claims them.
      return { ...acceptance, after: allOf([acceptance, dropped]) };
    },
  };
}
