// The way into the inboxes: makes sure that a session exists, and stores its inputs. Made once per process, so that all that write share
// statements and the memory of known sessions.
import { createAccept, type Acceptance } from './accept-messages.ts';
import type { Database } from './database.ts';
import type { NewInput } from './new-input.ts';
import { createEnsureSession, type EnsureSession } from './sessions.ts';

export interface Inbox {
  /** The id of a session, which is created if need be. */
  ensureSession: EnsureSession;
  /** Stores an input of an existing session; resolves after the commit. */
  accept: (input: NewInput) => Promise<Acceptance>;
}

/** Makes the inbox of a process. */
export function createInbox(database: Database): Inbox {
  return { ensureSession: createEnsureSession(database), accept: createAccept(database) };
}
