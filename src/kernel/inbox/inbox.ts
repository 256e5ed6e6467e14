// The way into the inboxes: makes sure that a session exists, and stores its inputs. Made once per process, so that all that write share
// statements and the memory of known sessions.
import type { Committed } from '../queue/after-commit.ts';
import { createAccept, type Acceptance } from './accept-messages.ts';
import type { Database } from '../../database/database.ts';
import { deliverDelayed, storeDelayed, type DelayedInput, type Delivered } from './delayed-messages.ts';
import { dropOverflow } from './drop-overflow.ts';
import type { NewInput } from './new-input.ts';
import { mergeAll } from '../queue/rings.ts';
import { createEnsureSession, SessionErasedError, type EnsureSession } from '../sessions/sessions.ts';

export interface Inbox {
  /** The id of a session, which is created if need be. */
  ensureSession: EnsureSession;
  /** Stores an input of a session, and drops messages over its cap; resolves after the commits. Rejects with `SessionErasedError`. */
  accept: (input: NewInput) => Promise<Committed<Acceptance>>;
  /** Stores a message that is delivered later. Rejects with `SessionErasedError`. */
  delay: (input: DelayedInput) => Promise<Committed<Acceptance>>;
  /** Delivers due messages, and drops those over the caps of their sessions; resolves after the commits. */
  deliver: (inputs: readonly NewInput[]) => Promise<Delivered[]>;
}

/** Makes the inbox of a process. */
export function createInbox(database: Database): Inbox {
  const store = createAccept(database);
  async function dropOver(input: NewInput, isOverCap: boolean): Promise<Committed<object>> {
    const { sessionId, queue } = input;
    return !isOverCap || queue === undefined
      ? {}
      : await dropOverflow(database, { sessionId, cap: queue.cap, drop: queue.drop });
  }
  return {
    ensureSession: createEnsureSession(database),
    async accept(input) {
      const acceptance = await store(input);
      if (acceptance.kind === 'gone') throw new SessionErasedError(input.sessionId);
      if (acceptance.kind !== 'accepted' || !acceptance.isOverCap) return acceptance;
      // The session is rung for when the messages over the cap are gone, so no turn claims them.
      return { ...acceptance, after: mergeAll([acceptance, await dropOver(input, true)]) };
    },
    async delay(input) {
      const acceptance = await storeDelayed(database, input);
      if (acceptance.kind === 'gone') throw new SessionErasedError(input.sessionId);
      return acceptance;
    },
    async deliver(inputs) {
      const delivered: Delivered[] = [];
      for (const one of await deliverDelayed(database, inputs)) {
        const input = inputs.find(({ messageId }) => messageId === one.id);
        const dropped = input === undefined ? {} : await dropOver(input, one.isOverCap);
        delivered.push({ ...one, after: mergeAll([one, dropped]) });
      }
      return delivered;
    },
  };
}
